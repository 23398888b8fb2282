"""Reads new events once for all readers on this server.

While there are readers, the numbers of all streams are read ten times a second. New events are read once, rendered
once, and appended to a tail, from which each reader takes them at its own speed. A reader that is behind the tail reads
the database itself, some events at a time. So a slow reader costs no memory, and readers do not wait for each other.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.engine import Connection

from canton.api.events.sse import render, unattributed
from canton.domain.errors import DatabaseUnavailable, TooBusy
from canton.store import outbox
from canton.store.database import SECOND, Database
from canton.store.listing import Visible

T = TypeVar("T")
ReaderKey: TypeAlias = tuple[str, str]
"""What a reader counts for: the kind ("principal" or "tenant") and the name."""
log = logging.getLogger("canton.events")


@dataclass(frozen=True, slots=True)
class HubSettings:
    """The intervals (in seconds) and sizes of a hub."""

    poll: float = 0.1
    keep_alive: float = 15.0
    check: float = 10.0
    """A reader's rights are checked again at least this often."""
    blocked: float = 30.0
    """A reader that takes nothing for this long is disconnected."""
    behind: int = 10_000
    """A reader that is this many events behind gets a warning."""
    tail: int = 4096
    """Events kept in memory, for all streams together."""
    batch: int = 100
    """Events that a reader that is behind has in memory at a time."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The most readers at a time: in all, of one principal, and of one tenant's members and accounts together."""

    total: int = 2000
    principal: int = 100
    tenant: int = 500
    reserve: int = 200
    """Of the total, for readers of the provider only; at most half of it."""

    @property
    def for_tenants(self) -> int:
        return self.total - min(self.reserve, self.total // 2)


@dataclass(frozen=True, slots=True)
class RenderedEvent:
    """An event of a stream, and its lines as they are sent.

    Readers who may not read the audit get ``unattributed``. Both are rendered once for all readers.
    """

    stream: str
    event: outbox.StoredEvent
    text: bytes
    unattributed: bytes

    @property
    def tenant(self) -> str | None:
        return tenant_of(self.stream)


class Hub:
    """One per server; lives on its event loop."""

    def __init__(
        self, database: Database, limits: ReaderLimits | None = None, settings: HubSettings | None = None
    ) -> None:
        self.settings = settings or HubSettings()
        self.readers = 0
        self.lag = 0.0
        """The age of the newest event when it was read, in seconds."""
        self.draining = False
        self.published: dict[str, int] | None = None
        """By stream, the number of the newest event that was put on the tail; None while there are no readers."""
        self._database = database
        self._limits = limits or ReaderLimits()
        self._counts: Counter[ReaderKey] = Counter()
        self._tail: list[RenderedEvent] = []
        self._first = 0
        self._new_events = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(4, "canton-events")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @contextmanager
    def count_reader(self, who: str = "", visible: Visible = None) -> Iterator[None]:
        """Count a reader while the block lasts; raises ``TooBusy`` at a limit.

        A reader counts for its principal and for each tenant that it follows. ``visible`` None is a reader of the
        provider.
        """
        keys: list[ReaderKey] = [("principal", who), *(("tenant", name) for name in sorted(visible or ()))]
        self._require_capacity(keys, at_provider=visible is None)
        self.readers += 1
        self._counts.update(keys)
        if self._polling is None:
            self._polling = asyncio.create_task(self._keep_polling())
        try:
            yield
        finally:
            self.readers -= 1
            self._counts.subtract(keys)
            for name in keys:
                if not self._counts[name]:
                    del self._counts[name]
            if not self.readers:
                self._stop_polling()

    def _require_capacity(self, keys: list[ReaderKey], *, at_provider: bool) -> None:
        if self.draining:
            raise TooBusy("this server is stopping; try again, or another server")
        most = self._limits.total if at_provider else self._limits.for_tenants
        if self.readers >= most:
            raise TooBusy(f"this server has {most} readers of events, which is its limit; try again, or another server")
        for kind, name in keys:
            limit = self._limits.principal if kind == "principal" else self._limits.tenant
            if self._counts[kind, name] >= limit:
                raise TooBusy(
                    f"the {kind} {name} follows events {limit} times already, which is the limit; end some of them"
                )

    def drain(self) -> None:
        """End all streams; new readers are refused."""
        self.draining = True
        self._wake()

    def close(self) -> None:
        self.drain()
        self._stop_polling()
        # A read that is under way has a connection, which must be returned before the database is closed.
        self._threads.shutdown(wait=True, cancel_futures=True)

    @property
    def end(self) -> int:
        """The index after the last event of the tail; it counts the events that were removed from the tail, too."""
        return self._first + len(self._tail)

    def events_from(self, index: int, limit: int) -> list[RenderedEvent] | None:
        """At most ``limit`` events of the tail from this index on; None if the tail no longer has the first of them."""
        start = index - self._first
        return self._tail[start : start + limit] if start >= 0 else None

    async def wait_for_events(self, seconds: float) -> None:
        """Wait for new events, at most this long."""
        waiting = self._new_events
        try:
            async with asyncio.timeout(seconds):
                await waiting.wait()
        except TimeoutError:
            return

    async def read(self, look: Callable[[Connection], T]) -> T:
        """Read from the database in a thread."""

        def snapshot() -> T:
            with self._database.read() as connection:
                return look(connection)

        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, snapshot)

    async def read_in_turn(self, look: Callable[[Connection], T], who: str) -> T:
        """As ``read``, but one at a time for all readers of ``who``, so that many of them do not take every thread."""
        turn = self._turns.setdefault(who, asyncio.Lock())
        async with turn:
            return await self.read(look)

    async def read_after(self, backlog: Mapping[str, int], limit: int, who: str = "") -> list[RenderedEvent]:
        """The next events of several streams, roughly by time, those of one stream in order."""
        return await self.read_in_turn(lambda connection: _read_next_events(connection, backlog, limit), who)

    async def _keep_polling(self) -> None:
        while True:
            try:
                more = await self._publish_new_events()
            except DatabaseUnavailable as error:
                log.warning("cannot read new events, trying again: %s", error.with_cause)
                await asyncio.sleep(1.0)
            except Exception:
                log.exception("cannot read new events because of a defect, trying again")
                await asyncio.sleep(1.0)
            else:
                if not more:
                    await asyncio.sleep(self.settings.poll)

    async def _publish_new_events(self) -> bool:
        """Append new events to the tail; True if there are more."""
        if self.published is None:
            self.published = await self.read(outbox.lasts)
            self._wake()
            return False
        published = dict(self.published)
        new_events = await self.read(lambda connection: _read_new_events(connection, published, self.settings.tail))
        if not new_events:
            return False
        for rendered in new_events:
            self.published[rendered.stream] = rendered.event.seq
        self.lag = max(0.0, time.time() - new_events[0].event.at / SECOND)
        self._tail += new_events
        surplus = len(self._tail) - self.settings.tail
        if surplus > 0:
            del self._tail[:surplus]
            self._first += surplus
        self._wake()
        return len(new_events) >= self.settings.tail

    def _wake(self) -> None:
        # A new asyncio.Event for the next batch, so that a waiting reader is woken once per batch.
        woken, self._new_events = self._new_events, asyncio.Event()
        woken.set()

    def _stop_polling(self) -> None:
        """Without readers: stop reading and drop the tail; the next reader starts from the database."""
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        self._first = self.end
        self._tail = []
        self.published = None


def tenant_of(stream: str) -> str | None:
    return None if stream == outbox.PROVIDER else stream


def _read_new_events(connection: Connection, published: Mapping[str, int], limit: int) -> list[RenderedEvent]:
    backlog = {
        name: published.get(name, 0) for name, last in outbox.lasts(connection).items() if last > published.get(name, 0)
    }
    return _read_next_events(connection, backlog, limit) if backlog else []


def _read_next_events(connection: Connection, backlog: Mapping[str, int], limit: int) -> list[RenderedEvent]:
    per_stream = max(1, limit // len(backlog))
    streams = (
        [_render_event(name, event) for event in outbox.read(connection, name, position, per_stream)]
        for name, position in backlog.items()
    )
    return list(heapq.merge(*streams, key=lambda rendered: rendered.event.at))


def _render_event(stream: str, event: outbox.StoredEvent) -> RenderedEvent:
    text, without = render(event, tenant_of(stream)), unattributed(event)
    return RenderedEvent(stream, event, text, text if without is event else render(without, tenant_of(stream)))
