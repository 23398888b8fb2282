"""Events: pages of what happened, and a stream of what happens that survives lost connections."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from canton.client.calls import Calls, encoded, path
from canton.client.errors import Unreachable
from canton.client.sse import Message, Parser
from canton.client.transport import Live, Request

if TYPE_CHECKING:
    from canton.client.objects import Event

BEHIND = "canton.behind"
"""The kind of the message, without an id, by which a server tells a reader that it is too slow."""
SILENCE = 60.0
"""Seconds without a byte after which a connection counts as lost; a server says something more often."""
LONGEST_PAUSE = 15.0


class Stream:
    """A live stream of events: iterate over it. It reconnects by itself and goes on after the last event it gave."""

    def __init__(self, calls: Calls, query: dict[str, str | None], after: str | None, patience: float) -> None:
        self._calls = calls
        self._query = query
        self._patience = patience
        self._live: Live | None = None
        self.last_id = after or ""

    def __enter__(self) -> Stream:
        self.open()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect now, so that nothing is missed that happens after this returns."""
        if self._live is None:
            self._live = self._connected()

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None

    def __iter__(self) -> Iterator[Event]:
        return (cast("Event", json.loads(message.data)) for message in self.messages() if message.kind != BEHIND)

    def messages(self) -> Iterator[Message]:
        """What the server sends, each event once, until the reader stops."""
        lost_at: float | None = None
        tries = 0
        while True:
            try:
                for message in self._connection_messages():
                    lost_at, tries = None, 0
                    yield message
            except Unreachable:
                lost_at = lost_at or time.monotonic()
                if time.monotonic() - lost_at > self._patience:
                    raise
            tries += 1
            time.sleep(min(LONGEST_PAUSE, 0.1 * 2**tries) * random.uniform(0.5, 1))  # noqa: S311 (jitter)

    def _connection_messages(self) -> Iterator[Message]:
        """The messages of one connection, until it ends."""
        self.open()
        live = self._live
        assert live is not None  # noqa: S101 (open sets it or raises)
        parser = Parser(self.last_id)
        try:
            while chunk := live.response.read1(65536):
                for message in parser.feed(chunk):
                    # An event without an id cannot be told from one that came before, so it moves nothing.
                    previous_id, self.last_id = self.last_id, message.id
                    if message.kind == BEHIND or not message.id or message.id != previous_id:
                        yield message
                self.last_id = parser.last_id
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self.close()

    def _connected(self) -> Live:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self.last_id and self.last_id != "start":
            headers["Last-Event-ID"] = self.last_id
        query = self._query | ({"after": "start"} if self.last_id == "start" else {})
        request = self._calls.prepared(Request("GET", path("events") + encoded(query), headers))
        live = self._calls.transport.open(request, SILENCE)
        if live.response.status == 200:
            return live
        answer = live.rest()
        renewed = self._calls.renewed(request, answer)
        if renewed is not None:
            live = self._calls.transport.open(renewed, SILENCE)
            if live.response.status == 200:
                return live
            answer = live.rest()
        if answer.status in (429, 503):
            raise Unreachable(f"{self._calls.transport.address.url} has no room for another reader of events now")
        self._calls.judged(answer)
        raise Unreachable(f"the server answered a request for events with HTTP status {answer.status}")


class Events:
    """What happened, and what happens."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(
        self,
        *,
        tenant: str | None = None,
        subject: str | None = None,
        after: str | None = None,
        since: str | None = None,
        newest: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Event]:
        """Past events, oldest first: all, those since an instant, or the newest N."""
        query = {"tenant": tenant or self._calls.caller.tenant, "subject": subject, "after": after}
        query |= {"since": since, "newest": None if newest is None else str(newest)}
        return cast("Iterator[Event]", self._calls.pages(path("events"), query, limit))

    def stream(
        self,
        *,
        tenant: str | None = None,
        subject: str | None = None,
        after: str | None = None,
        since: str | None = None,
        patience: float = 300.0,
    ) -> Stream:
        """Events as they happen, from now on, from an instant on, or after an id; ``start`` is the beginning.

        A lost connection is made again, resuming after the last event: nothing is lost and nothing comes twice.
        ``Unreachable`` is raised once the server has not been there for ``patience`` seconds.
        """
        query = {"tenant": tenant or self._calls.caller.tenant, "subject": subject, "since": since}
        return Stream(self._calls, query, after, patience)
