"""Calls and replies over uvicorn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from canton.emulator.wire.call import Call, Reply, text_reply

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_ABORT = "canton.emulator.abort"
HEAD_LIMIT = 1 << 20
"""As Go's DefaultMaxHeaderBytes."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_PARSED = 65_535
"""The longest target that httptools reads."""
_PIECE = 1 << 20
_BODILESS = frozenset({204, 304})
TOO_LARGE = text_reply("Payload Too Large", 413, "text/plain")


class Cut(Exception):
    """The caller gets no answer: the connection is closed, or it is gone already."""


Answer = Callable[[Call], Awaitable[Reply]]


class Connection(HttpToolsProtocol):
    """One connection, which a fault may cut. Uvicorn itself reads headers without an end, refuses long queries, and
    hangs up on who stops sending after a request.
    """

    _head: int | None = None
    """How much of a head that has not ended has come."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        self.scope["extensions"] = {_ABORT: {"cut": self.transport.abort}}

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

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is None or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > HEAD_LIMIT:
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Whoever has said all still hears the answer; TLS knows no half-closed connection."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.scheme != "http" or cycle is None or cycle.response_complete or cycle.more_body:
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
            body = await _read(receive, self.body_limit)
        except Cut:
            return
        if body is None:
            await _send(send, TOO_LARGE, head=False)
            return
        try:
            reply = await self.answer(_call(scope, body))
        except Cut:
            scope["extensions"][_ABORT]["cut"]()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await _send(send, reply, head=scope["method"] == "HEAD")


def _call(scope: Scope, body: bytes) -> Call:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    client = scope.get("client")
    return Call(
        scope["method"],
        scope["path"],
        tuple(parse_qsl(query, keep_blank_values=True, errors="replace")),
        headers,
        body,
        client[0] if client else "",
        f"{scope['scheme']}://{headers.get('host', 'localhost')}",
        target=target,
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


async def _send(send: Send, reply: Reply, *, head: bool) -> None:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in reply.headers]
    if reply.media:
        headers.append((b"content-type", reply.media.encode("latin-1")))
    if reply.status not in _BODILESS:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if head or reply.status in _BODILESS else reply.body
    # Between two pieces the connection may say that it is full: nothing is piled up for a slow reader.
    for start in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": body[-(len(body) % _PIECE or _PIECE) :]})
