"""Past events in pages, and a stream of new events that reconnects after a lost connection."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from canton.client.calls import ApiClient, encoded, path
from canton.client.errors import Unreachable
from canton.client.sse import Message, Parser
from canton.client.transport import Request, StreamingResponse

if TYPE_CHECKING:
    from canton.client.objects import Event

BEHIND = "canton.behind"
"""The kind of the message, without an id, by which a server tells a reader that it is too slow."""
SILENCE = 60.0
"""Seconds without a byte after which a connection counts as lost; a server sends a comment more often."""
LONGEST_PAUSE = 15.0


class Stream:
    """A live stream of events: iterate over it. It reconnects by itself and continues after the last event."""

    def __init__(self, api: ApiClient, query: dict[str, str | None], after: str | None, patience: float) -> None:
        self._api = api
        self._query = query
        self._patience = patience
        self._response: StreamingResponse | None = None
        self.last_id = after or ""

    def __enter__(self) -> Stream:
        self.open()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect now, so that events after this call are not missed."""
        if self._response is None:
            self._response = self._connect()

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def __iter__(self) -> Iterator[Event]:
        return (cast("Event", json.loads(message.data)) for message in self.messages() if message.kind != BEHIND)

    def messages(self) -> Iterator[Message]:
        """The messages of the server, each event once, until the reader stops; reconnects when a connection is lost."""
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
        streaming = self._response
        assert streaming is not None  # noqa: S101 (open sets it or raises)
        parser = Parser(self.last_id)
        try:
            while chunk := streaming.response.read1(65536):
                for message in parser.feed(chunk):
                    # An event without a new id may be a repetition, so it is left out.
                    previous_id, self.last_id = self.last_id, message.id
                    if message.kind == BEHIND or not message.id or message.id != previous_id:
                        yield message
                self.last_id = parser.last_id
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self.close()

    def _connect(self) -> StreamingResponse:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if self.last_id and self.last_id != "start":
            headers["Last-Event-ID"] = self.last_id
        query = self._query | ({"after": "start"} if self.last_id == "start" else {})
        request = self._api.with_credentials(Request("GET", path("events") + encoded(query), headers))
        streaming = self._api.transport.stream(request, SILENCE)
        if streaming.response.status == 200:
            return streaming
        answer = streaming.read_remaining()
        retried = self._api.with_renewed_token(request, answer)
        if retried is not None:
            streaming = self._api.transport.stream(retried, SILENCE)
            if streaming.response.status == 200:
                return streaming
            answer = streaming.read_remaining()
        if answer.status in (429, 503):
            raise Unreachable(f"{self._api.transport.address.url} has no room for another reader of events now")
        self._api.require_success(answer)
        raise Unreachable(f"the server answered a request for events with HTTP status {answer.status}")


class Events:
    """Past events, and a stream of new ones."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

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
        query = {"tenant": tenant or self._api.caller.tenant, "subject": subject, "after": after}
        query |= {"since": since, "newest": None if newest is None else str(newest)}
        return cast("Iterator[Event]", self._api.pages(path("events"), query, limit))

    def stream(
        self,
        *,
        tenant: str | None = None,
        subject: str | None = None,
        after: str | None = None,
        since: str | None = None,
        patience: float = 300.0,
    ) -> Stream:
        """Events as they happen: from now on, from an instant on, or after an id (``start``: from the first event).

        A lost connection is made again, resuming after the last event: nothing is lost and nothing comes twice.
        Raises ``Unreachable`` after ``patience`` seconds without a connection.
        """
        query = {"tenant": tenant or self._api.caller.tenant, "subject": subject, "since": since}
        return Stream(self._api, query, after, patience)
