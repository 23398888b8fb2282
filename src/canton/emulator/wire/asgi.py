"""Calls and replies over uvicorn."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from httptools import HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from canton.emulator.wire.call import Call, Cut, Reply, Stream, Talk, text_reply
from canton.emulator.wire.tunnel import MOST_UNREAD, Tunnel

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_CONNECTION = "canton.emulator.connection"
HEAD_LIMIT = 1 << 20
"""As Go's DefaultMaxHeaderBytes."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_PARSED = 65_535
"""The longest target that httptools reads."""
_PIECE = 1 << 20
_BODILESS = frozenset({204, 304})
_LIST, _LINK = b"LIST ", b"LINK "
"""Vault's own method, which the parser does not know, travels past it as one that nobody uses."""
TOO_LARGE = text_reply("Payload Too Large", 413, "text/plain")


Answer = Callable[[Call], Awaitable[Reply]]


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
    _behind: bytes | None = None
    """What came behind a request for an upgrade: until that is answered nobody knows whether it is HTTP."""
    _owed = 0
    """Bytes of that request's body that have not come."""
    streaming = False
    """An answer without an end goes out: who stops sending is taken for gone."""

    def open_tunnel(self, head: bytes) -> Tunnel:
        """Answer the request that is being carried out with this head, and speak freely from then on."""
        cycle: RequestResponseCycle = self.cycle
        cycle.response_started = cycle.response_complete = True
        self._tunnel = Tunnel(self.transport, self.flow)
        self.transport.write(head)
        self._tunnel.feed(self._behind or b"")
        self._behind = None
        return self._tunnel

    def cut(self) -> None:
        self.transport.abort()

    def caller(self) -> str:
        shown = self.transport.get_extra_info("peercert") or {}
        names = [value for part in shown.get("subject", ()) for name, value in part if name == "commonName"]
        return names[0] if names else ""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        self.scope["extensions"] = {_CONNECTION: self}  # type: ignore[dict-item]

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
            self._behind = b""
            self._owed = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
            self.cycle.more_body = self._owed > 0
            self._hold(self._data[ended.args[0] :])

    def _hold(self, data: bytes) -> None:
        """The parser takes a request for an upgrade to have no body, and Java sends one."""
        body, rest = data[: self._owed], data[self._owed :]
        if body:
            self._owed -= len(body)
            self.cycle.more_body = self._owed > 0
            self.on_body(body)
        self._behind = (self._behind or b"") + rest
        if len(self._behind) > MOST_UNREAD:
            self.flow.pause_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._behind is None or not self.cycle.response_complete or self.transport.is_closing():
            return
        behind, self._behind = self._behind, None
        if self._owed:
            self.transport.close()
        else:
            self.data_received(behind)

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel.feed(data)
            return
        if self._behind is not None:
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
        if self._head > HEAD_LIMIT:
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

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._tunnel is not None:
            self._tunnel.feed_end()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Whoever has said all still hears the answer; TLS knows no half-closed connection."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.scheme != "http" or self.streaming or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        cycle.keep_alive = False
        return True


@dataclass(frozen=True, slots=True)
class App:
    """An ASGI application that hands every request to ``answer``."""

    answer: Answer
    body_limit: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")
        try:
            await self._serve(scope, receive, send)
        except asyncio.CancelledError:
            # The listener has waited long enough for somebody who does not read.
            scope["extensions"][_CONNECTION].cut()
            await _gone(receive)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _read(receive, self.body_limit)
        except Cut:
            return
        if body is None:
            await _send(send, TOO_LARGE, head=False)
            return
        try:
            reply = await self.answer(_call(scope, body))
        except Cut:
            scope["extensions"][_CONNECTION].cut()
            await _gone(receive)
            return
        if reply.talk is not None:
            await _talk(scope["extensions"][_CONNECTION], reply, reply.talk)
        elif reply.stream is not None and scope["method"] != "HEAD":
            connection = scope["extensions"][_CONNECTION]
            connection.streaming = True
            try:
                await _send_stream(receive, send, reply, reply.stream)
            except Cut:
                connection.cut()
                await _gone(receive)
            connection.streaming = False
        else:
            await _send(send, reply, head=scope["method"] == "HEAD")


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _talk(connection: Connection, reply: Reply, talk: Talk) -> None:
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in reply.headers)]
    tunnel = connection.open_tunnel("\r\n".join([*lines, "", ""]).encode("latin-1"))
    try:
        await talk(tunnel)
    finally:
        tunnel.close()


def _call(scope: Scope, body: bytes) -> Call:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    client = scope.get("client")
    return Call(
        "LIST" if scope["method"] == "LINK" else scope["method"],
        scope["path"],
        tuple(parse_qsl(query, keep_blank_values=True, errors="replace")),
        headers,
        body,
        client[0] if client else "",
        f"{scope['scheme']}://{headers.get('host', 'localhost')}",
        target=target,
        caller=scope["extensions"][_CONNECTION].caller(),
    )


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The body, or None when it is too large: the rest is not read. Half a request is none: raises ``Cut``."""
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Cut
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in reply.headers]
    if reply.media:
        headers.append((b"content-type", reply.media.encode("latin-1")))
    return headers


async def _send_stream(receive: Receive, send: Send, reply: Reply, stream: Stream) -> None:
    """Until it is over, or the caller is gone; a full connection holds it back."""
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
    # The head goes out at once: a follower of a silent log wants to know that it was heard.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    gone = asyncio.ensure_future(_gone(receive))
    pieces = stream()
    try:
        while True:
            piece = asyncio.ensure_future(anext(pieces, None))
            await asyncio.wait((piece, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                piece.cancel()
                await asyncio.wait((piece,))
                return
            data = piece.result()
            if data is None:
                break
            await send({"type": "http.response.body", "body": data, "more_body": True})
    finally:
        gone.cancel()
        await pieces.aclose()
    await send({"type": "http.response.body", "body": b""})


async def _send(send: Send, reply: Reply, *, head: bool) -> None:
    headers = _headers(reply)
    if reply.status not in _BODILESS and reply.stream is None:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if head or reply.status in _BODILESS else reply.body
    # Between two pieces the connection may say that it is full: nothing is piled up for a slow reader.
    for start in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": body[-(len(body) % _PIECE or _PIECE) :]})
