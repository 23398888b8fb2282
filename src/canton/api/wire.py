"""The HTTP connection itself: what uvicorn's httptools protocol leaves open, closed.

It has no limit on the size of a request's head, nor on the time that may take to arrive, nor on what comes between and
behind the chunks of a body, and no way to cut off a client that takes nothing. All are needed on a port that strangers
can reach.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from canton.api.event_stream import ABORT

# Eight times what nginx takes for a header: cursors of events may be long.
HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 20.0
_TEXT = b"the head of the request is larger than 64 KiB; send fewer or shorter headers\n"
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_TEXT), _TEXT)
)


class Connection(HttpToolsProtocol):
    """The head of a request is what comes before its body: its bytes are counted and its time is limited."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._head_size = 0
        self._patience: asyncio.TimerHandle | None = None
        self._in_body = False
        self._brought_body = False
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._have_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._brought_body = False
        super().data_received(data)
        around_chunks = self._in_body and not self._brought_body
        if (self._patience is None and not around_chunks) or self.transport.is_closing():
            return
        self._head_size += len(data)
        if self._head_size <= HEAD_LIMIT:
            return
        if around_chunks:
            # An answer may be half sent: there is no place for another.
            self.transport.abort()
            return
        self._have_head()
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        # One that follows the body is left out: what was checked and counted is the head.
        if self._patience is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._have_head()
        self._in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._brought_body = True
        self._head_size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def _expect_head(self) -> None:
        self._have_head()
        self._head_size = 0
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _have_head(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
