"""One connection of a listener: the differences from uvicorn's that services and their clients need."""

from __future__ import annotations

import sys

from httptools import HttpParserUpgrade
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from csm_emulator.transport.tunnel import MOST_UNREAD, Tunnel

CONNECTION = "csm_emulator.connection"
"""The extension of a request's scope that holds its connection."""
HEAD_LIMIT = 1 << 20
"""Bytes, as Go's DefaultMaxHeaderBytes."""
MOST_HEADERS = 100
"""As in Envoy."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_PARSED = 65_535
"""The longest target that httptools reads."""
_LIST, _LINK = b"LIST ", b"LINK "
"""Vault's method LIST, which the parser does not know, is passed through it as LINK, which no client uses."""


def method_of(parsed: str) -> str:
    return "LIST" if parsed == "LINK" else parsed


class Connection(HttpToolsProtocol):
    """A connection that faults can abort and upgrades can take over. Uvicorn's own reads headers without a limit,
    refuses long queries, and closes when the client closes its sending side after a request.
    """

    _head: int | None = None
    """Bytes received of an incomplete head; None outside of a head."""
    _tunnel: Tunnel | None = None
    """Set after an upgrade: received bytes are no longer HTTP."""
    _data = b""
    """The bytes that the parser is reading."""
    _held_data: bytes | None = None
    """Bytes received after a request for an upgrade: whether they are HTTP depends on the response."""
    _missing_body = 0
    """Bytes of that request's body that are not yet received."""
    _answering: RequestResponseCycle | None = None
    """The request that is being handled; ``cycle`` is the last one received."""
    streaming = False
    """An endless response is being sent: a client that closes its sending side counts as disconnected."""

    def open_tunnel(self, head: bytes) -> Tunnel:
        """Sends this head as the response to the current request, and turns the connection into a tunnel."""
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
        """Handles requests for an upgrade to HTTP/2, which Java sends to every server, as usual requests."""
        ended = sys.exception()
        if isinstance(ended, HttpParserUpgrade):
            self._held_data = b""
            self._missing_body = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
            self.cycle.more_body = self._missing_body > 0
            self._hold(self._data[ended.args[0] :])

    def _hold(self, data: bytes) -> None:
        """Splits received bytes: the parser assumes that a request for an upgrade has no body, but Java sends one."""
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
        """Aborts idle connections: over TLS, a client may not notice the close, and shutdown would wait for it."""
        super().shutdown()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.more_body and not cycle.response_started:
            # An incomplete request, which may never be completed.
            self.transport.abort()
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            # Uvicorn notifies only the last of pipelined requests.
            self._answering.disconnected = True
            self._answering.message_event.set()
        if self._tunnel is not None:
            self._tunnel.feed_end()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """A client that closes its sending side still gets the response, except over TLS, which has no half-close."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.scheme != "http" or self.streaming or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        cycle.keep_alive = False
        return True
