"""One reader of events: the events that it may see from a cursor on, each once, those of one stream in order."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy.engine import Connection

from canton.api.events import cursor as positions
from canton.api.events import sse
from canton.api.events.cursor import Positions
from canton.api.events.hub import Hub, RenderedEvent
from canton.domain.errors import Forbidden, InvalidCursor
from canton.domain.json_types import JsonObject
from canton.store import outbox
from canton.store.listing import LARGEST_PAGE

START = "start"
MEMBERS = "member."
Visible: TypeAlias = frozenset[str] | None
"""The tenants whose events may be seen; None is everything, the provider's own included."""
_jitter = random.random


@dataclass(frozen=True, slots=True)
class ReaderRights:
    """The tenants whose events a reader may see, whose actors and reasons it may see, and whose members it may see."""

    events: Visible
    attributed: Visible
    members: Visible

    def shows(self, event: RenderedEvent) -> bool:
        """Events about members name people and their roles."""
        return not event.event.kind.startswith(MEMBERS) or _is_in(event.stream, self.members)


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where a reader starts.

    ``after`` is a cursor, ``start``, or None: then it starts at the instant ``since`` or with the ``newest`` N events,
    the later of the two; without either, with new events.
    """

    after: str | None = None
    since: int | None = None
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a reader follows. ``rights`` is called at the start and repeatedly; an error that it raises ends the reader.

    All readers with the same ``who`` together read one page at a time from the database.
    """

    rights: Callable[[], Awaitable[ReaderRights]]
    tenant: str | None = None
    subject: str | None = None
    beginning: StartPosition = field(default_factory=StartPosition)
    who: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of events. ``cursor`` continues after the last item; ``more``: whether there are more events already.

    ``read`` is the number of events that were read for it, of ``size`` bytes together.
    """

    items: list[JsonObject]
    cursor: str
    more: bool
    read: int
    size: int


async def open_reader(hub: Hub, subscription: Subscription) -> Reader:
    """A reader at its start position. Raises ``InvalidCursor`` for a position that this reader cannot have reached."""
    rights = await subscription.rights()
    lasts = await hub.read(outbox.lasts)
    belongs = positions.mark(subscription.tenant, subscription.subject)
    if subscription.beginning.after is None:
        ends = {name: last for name, last in lasts.items() if _can_see(subscription, rights.events, name)}
        requested = Positions(belongs, await _start_positions(hub, subscription, ends))
    elif subscription.beginning.after == START:
        requested = Positions(belongs, {})
    else:
        requested = positions.parse(subscription.beginning.after, belongs)
    # Only streams that it may see: a check of the others would reveal that they exist, and how many events they have.
    own_positions = {
        name: number for name, number in requested.items().items() if _can_see(subscription, rights.events, name)
    }
    for name, number in own_positions.items():
        if number > lasts.get(name, 0):
            raise InvalidCursor(
                "the cursor is ahead of the newest event, as after the database was restored; read again from start"
            )
    # The cursor of every event names all streams, so streams that the client invented are left out.
    return Reader(hub, subscription, rights, Positions(belongs, own_positions))


def _first_page(events: list[RenderedEvent]) -> list[RenderedEvent]:
    """The first of the events, up to the size limit of a page; at least one."""
    size = 0
    for n, rendered in enumerate(events):
        size += len(rendered.text)
        if n and size > LARGEST_PAGE:
            return events[:n]
    return events


async def _start_positions(hub: Hub, subscription: Subscription, ends: Mapping[str, int]) -> Mapping[str, int]:
    """The position in each stream for a reader without a cursor."""
    since, newest = subscription.beginning.since, subscription.beginning.newest
    if since is None and newest is None:
        return ends

    def look(connection: Connection) -> Mapping[str, int]:
        return outbox.beginning(connection, ends, subscription.subject, since, newest)

    return await hub.read_in_turn(look, subscription.who)


class Reader:
    def __init__(self, hub: Hub, subscription: Subscription, rights: ReaderRights, start: Positions) -> None:
        self._hub = hub
        self._subscription = subscription
        self._rights = rights
        self._positions = start
        # The index of its next event on the hub's tail; None while the reader reads from the database.
        self._tail_index: int | None = None
        self._checked = time.monotonic()
        self._warned_behind = False
        # Events were skipped since the client last got a cursor.
        self._cursor_unsent = False

    async def page(self, limit: int) -> Page:
        """The next page, for a client that does not follow."""
        lasts = await self._hub.read(outbox.lasts)
        backlog = self._backlog(lasts)
        rendered_events = await self._hub.read_after(backlog, limit, self._subscription.who) if backlog else []
        items = [
            sse.as_json(self._shown(rendered), rendered.tenant)
            for rendered in self._take(_first_page(rendered_events[:limit]))
        ]
        size = sum(len(rendered.text) for rendered in rendered_events)
        return Page(items, self._positions.cursor(), bool(self._backlog(lasts)), len(rendered_events), size)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes of the stream; ends when the server stops, raises Forbidden when the reader loses its rights."""
        yield sse.opening(self._positions.cursor())
        silent_since = time.monotonic()
        while not self._hub.draining:
            await self._check()
            chunk = await self._next()
            if not chunk and time.monotonic() >= silent_since + self._hub.settings.keep_alive:
                chunk = sse.progress(self._positions.cursor()) if self._cursor_unsent else sse.KEEP_ALIVE
                self._cursor_unsent = False
            if chunk:
                yield chunk
                silent_since = time.monotonic()
            elif self._waits():
                await self._hub.wait_for_events(
                    min(silent_since + self._hub.settings.keep_alive, self._due()) - time.monotonic()
                )

    def _waits(self) -> bool:
        return self._hub.published is None or self._tail_index == self._hub.end

    async def _check(self) -> None:
        """Check this reader's rights again, if it is time."""
        if time.monotonic() < self._due():
            return
        try:
            async with asyncio.timeout(self._hub.settings.check):
                rights = await self._subscription.rights()
        except TimeoutError as error:
            raise Forbidden("the roles of this reader could not be checked in time") from error
        # With jitter, so that many readers that connected together do not check together.
        self._checked = time.monotonic() - self._hub.settings.check * 0.2 * _jitter()
        if rights.events is not None and not rights.events:
            raise Forbidden("this reader may not read events any more")
        if rights.events != self._rights.events:
            # Streams that have become visible may have events before our index on the tail.
            self._tail_index = None
        self._rights = rights

    def _due(self) -> float:
        return self._checked + self._hub.settings.check

    async def _next(self) -> bytes:
        published = self._hub.published
        if published is None:
            return b""
        from_tail = (
            None if self._tail_index is None else self._hub.events_from(self._tail_index, self._hub.settings.batch)
        )
        if from_tail is not None:
            self._tail_index = (self._tail_index or 0) + len(from_tail)
            return self._written(self._take(from_tail))
        backlog = self._backlog(published)
        if not backlog:
            self._tail_index, self._warned_behind = self._hub.end, False
            return b""
        self._tail_index = None
        warning = self._warn(sum(published[name] - position for name, position in backlog.items()))
        from_database = await self._hub.read_after(backlog, self._hub.settings.batch, self._subscription.who)
        return warning + self._written(self._take(from_database))

    def _take(self, events: Iterable[RenderedEvent]) -> Iterator[RenderedEvent]:
        """Advance over each event, and yield those that the subscription includes.

        A reader that comes from another server, or from the database, may be ahead of the tail: it skips the events
        that it had. It is never behind: it joins the tail only when it has all events before it.
        """
        for rendered in events:
            already_read = rendered.event.seq <= self._positions.at(rendered.stream)
            if already_read or not _can_see(self._subscription, self._rights.events, rendered.stream):
                continue
            self._positions.advance(rendered.stream, rendered.event.seq)
            self._cursor_unsent = self._subscription.subject not in (
                None,
                rendered.event.subject,
            ) or not self._rights.shows(rendered)
            if not self._cursor_unsent:
                yield rendered

    def _written(self, events: Iterable[RenderedEvent]) -> bytes:
        return b"".join(
            sse.numbered(
                self._positions.cursor(), rendered.text if self._attributed(rendered) else rendered.unattributed
            )
            for rendered in events
        )

    def _shown(self, rendered: RenderedEvent) -> outbox.StoredEvent:
        return rendered.event if self._attributed(rendered) else sse.unattributed(rendered.event)

    def _attributed(self, rendered: RenderedEvent) -> bool:
        return _is_in(rendered.stream, self._rights.attributed)

    def _backlog(self, lasts: Mapping[str, int]) -> dict[str, int]:
        """The streams with more events for this reader, and its position in each."""
        visible_streams = (name for name in lasts if _can_see(self._subscription, self._rights.events, name))
        return {name: self._positions.at(name) for name in visible_streams if self._positions.at(name) < lasts[name]}

    def _warn(self, count: int) -> bytes:
        if count <= self._hub.settings.behind or self._warned_behind:
            return b""
        self._warned_behind = True
        return sse.behind(count)


def _can_see(subscription: Subscription, visible: Visible, stream: str) -> bool:
    if subscription.tenant is not None and stream != subscription.tenant:
        return False
    return _is_in(stream, visible)


def _is_in(stream: str, visible: Visible) -> bool:
    return visible is None or stream in visible
