"""One reader of events: from a cursor on, what it may see, in the order of each stream, nothing twice."""

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
from canton.api.events.hub import Hub, Told
from canton.domain.data import JsonObject
from canton.domain.errors import Forbidden, InvalidCursor
from canton.store import outbox
from canton.store.listing import LARGEST_PAGE

START = "start"
MEMBERS = "member."
Visible: TypeAlias = frozenset[str] | None
"""The tenants whose events may be seen; None is everything, the provider's own included."""
_jitter = random.random


@dataclass(frozen=True, slots=True)
class Sight:
    """Whose events a reader may see, of whose it is also told who did it and why, and whose members it may see."""

    events: Visible
    attributed: Visible
    members: Visible

    def shows(self, told: Told) -> bool:
        """Events about members name people and their roles."""
        return not told.event.kind.startswith(MEMBERS) or _is_in(told.stream, self.members)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a reading begins.

    ``after`` is a cursor, ``start``, or None: then at the instant ``since`` or with the ``newest`` so many, the later
    of the two, and without either with what happens from now on.
    """

    after: str | None = None
    since: int | None = None
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """``sight`` is asked at the start and again and again; what it raises ends the reading.

    ``who`` reads from the database one page at a time, over all readers of that name.
    """

    sight: Callable[[], Awaitable[Sight]]
    tenant: str | None = None
    subject: str | None = None
    beginning: Beginning = field(default_factory=Beginning)
    who: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """``cursor`` goes on behind the last item; ``more`` says whether there is anything there yet.

    ``read`` is how many events were read for it, of ``size`` bytes.
    """

    items: list[JsonObject]
    cursor: str
    more: bool
    read: int
    size: int


async def open_reader(hub: Hub, wanted: Wanted) -> Reader:
    """Raises ``InvalidCursor`` for a place where this reader cannot have been."""
    sight = await wanted.sight()
    lasts = await hub.read(outbox.lasts)
    belongs = positions.mark(wanted.tenant, wanted.subject)
    if wanted.beginning.after is None:
        ends = {name: last for name, last in lasts.items() if _sees(wanted, sight.events, name)}
        at = Positions(belongs, await _begin(hub, wanted, ends))
    elif wanted.beginning.after == START:
        at = Positions(belongs, {})
    else:
        at = positions.parse(wanted.beginning.after, belongs)
    # Only of what it may see: the answer would tell of the rest that it is there, and how much happens in it.
    seen = {name: number for name, number in at.items().items() if _sees(wanted, sight.events, name)}
    for name, number in seen.items():
        if number > lasts.get(name, 0):
            raise InvalidCursor(
                "the cursor is ahead of what has happened, as after a database was restored; read from start"
            )
    # The cursor of every event names them all: not streams that somebody made up.
    return Reader(hub, wanted, sight, Positions(belongs, seen))


def _fitting(events: list[Told]) -> list[Told]:
    """The first of them, until they are as large as a page may be; at least one."""
    size = 0
    for n, told in enumerate(events):
        size += len(told.text)
        if n and size > LARGEST_PAGE:
            return events[:n]
    return events


async def _begin(hub: Hub, wanted: Wanted, ends: Mapping[str, int]) -> Mapping[str, int]:
    """The place in each stream for a reader that was nowhere yet."""
    since, newest = wanted.beginning.since, wanted.beginning.newest
    if since is None and newest is None:
        return ends

    def look(connection: Connection) -> Mapping[str, int]:
        return outbox.beginning(connection, ends, wanted.subject, since, newest)

    return await hub.read_in_turn(look, wanted.who)


class Reader:
    def __init__(self, hub: Hub, wanted: Wanted, sight: Sight, at: Positions) -> None:
        self._hub = hub
        self._wanted = wanted
        self._sight = sight
        self._at = at
        # On the hub's tail; None while the database has what comes next.
        self._place: int | None = None
        self._checked = time.monotonic()
        self._told_behind = False
        # Events were passed over since the client was last given a cursor.
        self._unsaid = False

    async def page(self, limit: int) -> Page:
        """What comes next, for a client that does not follow."""
        lasts = await self._hub.read(outbox.lasts)
        backlog = self._backlog(lasts)
        found = await self._hub.read_after(backlog, limit, self._wanted.who) if backlog else []
        items = [sse.as_json(self._shown(told), told.tenant) for told in self._take(_fitting(found[:limit]))]
        size = sum(len(told.text) for told in found)
        return Page(items, self._at.cursor(), bool(self._backlog(lasts)), len(found), size)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Bytes for the wire; ends when the server drains, raises when the reader may not read any more."""
        yield sse.opening(self._at.cursor())
        silent_since = time.monotonic()
        while not self._hub.draining:
            await self._check()
            chunk = await self._next()
            if not chunk and time.monotonic() >= silent_since + self._hub.pace.keep_alive:
                chunk = sse.progress(self._at.cursor()) if self._unsaid else sse.KEEP_ALIVE
                self._unsaid = False
            if chunk:
                yield chunk
                silent_since = time.monotonic()
            elif self._waits():
                await self._hub.news(min(silent_since + self._hub.pace.keep_alive, self._due()) - time.monotonic())

    def _waits(self) -> bool:
        return self._hub.published is None or self._place == self._hub.end

    async def _check(self) -> None:
        """Ask again whether, and what, this reader may read."""
        if time.monotonic() < self._due():
            return
        try:
            async with asyncio.timeout(self._hub.pace.check):
                sight = await self._wanted.sight()
        except TimeoutError as error:
            raise Forbidden("whether this reader may still read events could not be found out in time") from error
        # Not all at the same moment, where a thousand connected at the same moment.
        self._checked = time.monotonic() - self._hub.pace.check * 0.2 * _jitter()
        if sight.events is not None and not sight.events:
            raise Forbidden("this reader may not read events any more")
        if sight.events != self._sight.events:
            # What has become visible may lie before our place on the tail.
            self._place = None
        self._sight = sight

    def _due(self) -> float:
        return self._checked + self._hub.pace.check

    async def _next(self) -> bytes:
        published = self._hub.published
        if published is None:
            return b""
        told = None if self._place is None else self._hub.since(self._place, self._hub.pace.batch)
        if told is not None:
            self._place = (self._place or 0) + len(told)
            return self._written(self._take(told))
        backlog = self._backlog(published)
        if not backlog:
            self._place, self._told_behind = self._hub.end, False
            return b""
        self._place = None
        warning = self._warn(sum(published[name] - after for name, after in backlog.items()))
        found = await self._hub.read_after(backlog, self._hub.pace.batch, self._wanted.who)
        return warning + self._written(self._take(found))

    def _take(self, found: Iterable[Told]) -> Iterator[Told]:
        """Move on behind each event, and answer with those that are wanted.

        A reader that comes from another server, or from the database, may be ahead of the tail: it passes over what
        it had. It is never behind it: it joins the tail only when it has everything before.
        """
        for told in found:
            seen = told.event.seq <= self._at.at(told.stream)
            if seen or not _sees(self._wanted, self._sight.events, told.stream):
                continue
            self._at.advance(told.stream, told.event.seq)
            self._unsaid = self._wanted.subject not in (None, told.event.subject) or not self._sight.shows(told)
            if not self._unsaid:
                yield told

    def _written(self, found: Iterable[Told]) -> bytes:
        return b"".join(
            sse.numbered(self._at.cursor(), told.text if self._attributed(told) else told.unattributed)
            for told in found
        )

    def _shown(self, told: Told) -> outbox.StoredEvent:
        return told.event if self._attributed(told) else sse.unattributed(told.event)

    def _attributed(self, told: Told) -> bool:
        return _is_in(told.stream, self._sight.attributed)

    def _backlog(self, lasts: Mapping[str, int]) -> dict[str, int]:
        """The streams that have more for this reader, and where it stands in each."""
        seen = (name for name in lasts if _sees(self._wanted, self._sight.events, name))
        return {name: self._at.at(name) for name in seen if self._at.at(name) < lasts[name]}

    def _warn(self, count: int) -> bytes:
        if count <= self._hub.pace.behind or self._told_behind:
            return b""
        self._told_behind = True
        return sse.behind(count)


def _sees(wanted: Wanted, visible: Visible, stream: str) -> bool:
    if wanted.tenant is not None and stream != wanted.tenant:
        return False
    return _is_in(stream, visible)


def _is_in(stream: str, visible: Visible) -> bool:
    return visible is None or stream in visible
