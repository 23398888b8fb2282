"""One connection of a listener: where uvicorn's own is not what services and their clients need."""

from __future__ import annotations

import sys
from typing import Any

from httptools import HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from csm_emulator.transport.tunnel import MOST_UNREAD, Tunnel

CONNECTION = "csm_emulator.connection"
"""The extension of a request's scope that holds its connection."""
HEAD_LIMIT = 1 << 20
"""As Go's DefaultMaxHeaderBytes."""
MOST_HEADERS = 100
"""As Envoy."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_PARSED = 65_535
"""The longest target that httptools reads."""
_LIST, _LINK = b"LIST ", b"LINK "
"""Vault's own method, which the parser does not know, travels past it as one that nobody uses."""


def method_of(parsed: str) -> str:
    return "LIST" if parsed == "LINK" else parsed


class Connection(HttpToolsProtocol):
    """One connection, which a fault may cut, and which an upgrade may take over. Uvicorn itself reads headers without
    an end, refuses long queries, and hangs up on who stops sending after a request.
    """

    _head: int | None = None
    """How much of a head that has not ended has come."""
    _tunnel: Tunnel | None = None
    """There after an upgrade: what comes is no HTTP any more."""
    _data = b""
    """What is being read."""
    _held_data: bytes | None = None
    """What came behind a request for an upgrade: until that is answered nobody knows whether it is HTTP."""
    _missing_body = 0
    """Bytes of that request's body that have not come."""
    _answering: RequestResponseCycle | None = None
    """The request that is being carried out; ``cycle`` is the last one that was heard of."""
    streaming = False
    """An answer without an end goes out: who stops sending is taken for gone."""

    def open_tunnel(self, head: bytes) -> Tunnel:
        """Answer the request that is being carried out with this head, and speak freely from then on."""
        cycle: RequestResponseCycle = self.cycle
        cycle.response_started = cycle.response_complete = True
        self._tunnel = Tunnel(self.transport, self.flow)
        self.transport.write(head)
        self._tunnel.feed(self._held_data or b"")
        self._held_data = None
        return self._tunnel

    def cut(self) -> None:
        self.transport.abort()

    def caller(self) -> str:
        certificate = self.transport.get_extra_info("peercert") or {}
        names = [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
        return names[0] if names else ""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        self.scope["extensions"] = {CONNECTION: self}  # type: ignore[dict-item]

    def on_headers_complete(self) -> None:
        self._head = None
        query = b""
        if len(self.url) > _PARSED:
            # A query may name ten thousand nodes.
            self.url, _, query = self.url.partition(b"?")
        super().on_headers_complete()
        if query:
            self.scope["query_string"] = query.partition(b"#")[0]

    def _unsupported_upgrade_warning(self) -> None:
        """Java asks every server for HTTP/2, and takes no answer for an answer."""
        ended = sys.exception()
        if isinstance(ended, HttpParserUpgrade):
            self._held_data = b""
            self._missing_body = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
            self.cycle.more_body = self._missing_body > 0
            self._hold(self._data[ended.args[0] :])

    def _hold(self, data: bytes) -> None:
        """The parser takes a request for an upgrade to have no body, and Java sends one."""
        body, following = data[: self._missing_body], data[self._missing_body :]
        if body:
            self._missing_body -= len(body)
            self.cycle.more_body = self._missing_body > 0
            self.on_body(body)
        self._held_data = (self._held_data or b"") + following
        if len(self._held_data) > MOST_UNREAD:
            self.flow.pause_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._held_data is None or not self.cycle.response_complete or self.transport.is_closing():
            return
        behind, self._held_data = self._held_data, None
        if self._missing_body:
            self.transport.close()
        else:
            self.data_received(behind)

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel.feed(data)
            return
        if self._held_data is not None:
            self._hold(data)
            return
        cycle: RequestResponseCycle | None = self.cycle
        if data.startswith(_LIST) and (cycle is None or cycle.response_complete):
            data = _LINK + data[len(_LIST) :]
        self._data = data
        super().data_received(data)
        self._data = b""
        if self._head is None or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > HEAD_LIMIT or len(self.headers) > MOST_HEADERS:
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def shutdown(self) -> None:
        """A client that keeps an idle connection may not hear, over TLS, that it is closed, and nobody waits for it."""
        super().shutdown()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.more_body and not cycle.response_started:
            # Half a request, whose other half may never come.
            self.transport.abort()
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            # Uvicorn tells the last of those that were sent one behind another.
            self._answering.disconnected = True
            self._answering.message_event.set()
        if self._tunnel is not None:
            self._tunnel.feed_end()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Whoever has said all still hears the answer; TLS knows no half-closed connection."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.scheme != "http" or self.streaming or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        cycle.keep_alive = False
        return True
