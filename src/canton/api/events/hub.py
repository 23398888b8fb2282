"""New events, read once for everybody on this server who listens.

While somebody does, the numbers of all streams are looked at ten times a second. What is new is read once, rendered
once, and put on a tail that every reader takes from at its own speed. A reader that the tail has left behind reads
the database itself, a little at a time: nobody's slowness costs memory, and nobody waits for anybody.
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
Reader: TypeAlias = tuple[str, str]
"""What a place is counted for: "principal" or "tenant", and its name."""
log = logging.getLogger("canton.events")


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds and counts."""

    poll: float = 0.1
    keep_alive: float = 15.0
    check: float = 10.0
    """A reader's right to read is looked at again at least this often."""
    blocked: float = 30.0
    """A reader that takes nothing for this long is cut off."""
    behind: int = 10_000
    """A reader so many events behind is told."""
    tail: int = 4096
    """Events kept in memory, for all streams together."""
    batch: int = 100
    """Events that a reader that is behind has in memory at a time."""


@dataclass(frozen=True, slots=True)
class Places:
    """Readers at a time: in all, of one principal, and of one tenant's members and service accounts together."""

    total: int = 2000
    principal: int = 100
    tenant: int = 500
    reserve: int = 200
    """Of the total, for readers of the provider only; at most half of it."""

    @property
    def for_tenants(self) -> int:
        return self.total - min(self.reserve, self.total // 2)


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a stream, and its lines as readers get them.

    Readers who may not read the audit get ``unattributed``; both are rendered once for all of their readers.
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

    def __init__(self, database: Database, places: Places | None = None, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self.readers = 0
        self.lag = 0.0
        """How old the newest event was when it was picked up; seconds."""
        self.draining = False
        self.published: dict[str, int] | None = None
        """The number up to which each stream is on the tail, or was."""
        self._database = database
        self._places = places or Places()
        self._of: Counter[Reader] = Counter()
        self._tail: list[Told] = []
        self._first = 0
        self._news = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(4, "canton-events")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @contextmanager
    def place(self, who: str = "", visible: Visible = None) -> Iterator[None]:
        """One of the places for readers, while the block lasts; raises ``TooBusy`` when there is none.

        A reader counts for its principal and for each tenant that it follows. The provider's sees everything.
        """
        counted: list[Reader] = [("principal", who), *(("tenant", name) for name in sorted(visible or ()))]
        self._require_place(counted, at_provider=visible is None)
        self.readers += 1
        self._of.update(counted)
        if self._looking is None:
            self._looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            self.readers -= 1
            self._of.subtract(counted)
            for name in counted:
                if not self._of[name]:
                    del self._of[name]
            if not self.readers:
                self._rest()

    def _require_place(self, counted: list[Reader], *, at_provider: bool) -> None:
        if self.draining:
            raise TooBusy("this server is stopping; try again, or another server")
        most = self._places.total if at_provider else self._places.for_tenants
        if self.readers >= most:
            raise TooBusy(
                f"this server has {most} readers of events, as many as it takes; try again, or another server"
            )
        for kind, name in counted:
            limit = self._places.principal if kind == "principal" else self._places.tenant
            if self._of[kind, name] >= limit:
                raise TooBusy(f"the {kind} {name} follows events {limit} times already, as often as one may; end some")

    def drain(self) -> None:
        """Let every reader end where it stands; nobody new is taken."""
        self.draining = True
        self._wake()

    def close(self) -> None:
        self.drain()
        self._rest()
        # A look that is under way has a connection: whoever closes the database next must find it given back.
        self._threads.shutdown(wait=True, cancel_futures=True)

    @property
    def end(self) -> int:
        """The place behind the last event of the tail."""
        return self._first + len(self._tail)

    def since(self, place: int, limit: int) -> list[Told] | None:
        """What is on the tail from this place on; None when part of it has gone."""
        start = place - self._first
        return self._tail[start : start + limit] if start >= 0 else None

    async def news(self, seconds: float) -> None:
        """Until something happened, or for this long."""
        waiting = self._news
        try:
            async with asyncio.timeout(seconds):
                await waiting.wait()
        except TimeoutError:
            return

    async def read(self, look: Callable[[Connection], T]) -> T:
        """Look at the database in a thread."""

        def snapshot() -> T:
            with self._database.read() as connection:
                return look(connection)

        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, snapshot)

    async def read_in_turn(self, look: Callable[[Connection], T], who: str) -> T:
        """One after the other for all readers of ``who``: a hundred that begin at the start would take every thread."""
        turn = self._turns.setdefault(who, asyncio.Lock())
        async with turn:
            return await self.read(look)

    async def read_after(self, backlog: Mapping[str, int], limit: int, who: str = "") -> list[Told]:
        """The next events of several streams, roughly by time, and of each in order; in the turn of ``who``."""
        return await self.read_in_turn(lambda connection: _next_of(connection, backlog, limit), who)

    async def _keep_looking(self) -> None:
        while True:
            try:
                more = await self._look()
            except DatabaseUnavailable as error:
                log.warning("cannot read new events, trying again: %s", error.with_cause)
                await asyncio.sleep(1.0)
            except Exception:
                log.exception("cannot read new events because of a defect, trying again")
                await asyncio.sleep(1.0)
            else:
                if not more:
                    await asyncio.sleep(self.pace.poll)

    async def _look(self) -> bool:
        """Put what is new on the tail; True when there is more."""
        if self.published is None:
            self.published = await self.read(outbox.lasts)
            self._wake()
            return False
        known = dict(self.published)
        found = await self.read(lambda connection: _news_of(connection, known, self.pace.tail))
        if not found:
            return False
        for told in found:
            self.published[told.stream] = told.event.seq
        self.lag = max(0.0, time.time() - found[0].event.at / SECOND)
        self._tail += found
        surplus = len(self._tail) - self.pace.tail
        if surplus > 0:
            del self._tail[:surplus]
            self._first += surplus
        self._wake()
        return len(found) >= self.pace.tail

    def _wake(self) -> None:
        # A new one for the next batch: whoever waits for this one is woken once, however many events came.
        woken, self._news = self._news, asyncio.Event()
        woken.set()

    def _rest(self) -> None:
        """Nobody listens: what happens now is read from the database by whoever comes next."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self._first = self.end
        self._tail = []
        self.published = None


def tenant_of(stream: str) -> str | None:
    return None if stream == outbox.PROVIDER else stream


def _news_of(connection: Connection, known: Mapping[str, int], limit: int) -> list[Told]:
    backlog = {name: known.get(name, 0) for name, last in outbox.lasts(connection).items() if last > known.get(name, 0)}
    return _next_of(connection, backlog, limit) if backlog else []


def _next_of(connection: Connection, backlog: Mapping[str, int], limit: int) -> list[Told]:
    each = max(1, limit // len(backlog))
    streams = (
        [_told(name, event) for event in outbox.read(connection, name, after, each)] for name, after in backlog.items()
    )
    return list(heapq.merge(*streams, key=lambda told: told.event.at))


def _told(stream: str, event: outbox.StoredEvent) -> Told:
    text, without = render(event, tenant_of(stream)), unattributed(event)
    return Told(stream, event, text, text if without is event else render(without, tenant_of(stream)))
