"""Calls and replies over uvicorn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from canton.emulator.wire.call import Call, Cut, Reply, Stream, Talk, text_reply
from canton.emulator.wire.connection import CONNECTION, Connection, method_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PIECE = 1 << 20
_BODILESS = frozenset({204, 304})
TOO_LARGE = text_reply("Payload Too Large", 413, "text/plain")
Answer = Callable[[Call], Awaitable[Reply]]


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
            scope["extensions"][CONNECTION].cut()
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
            scope["extensions"][CONNECTION].cut()
            await _gone(receive)
            return
        if reply.talk is not None:
            await _talk(scope["extensions"][CONNECTION], reply, reply.talk)
        elif reply.stream is not None and scope["method"] != "HEAD":
            connection = scope["extensions"][CONNECTION]
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
        method_of(scope["method"]),
        scope["path"],
        tuple(parse_qsl(query, keep_blank_values=True, errors="replace")),
        headers,
        body,
        client[0] if client else "",
        f"{scope['scheme']}://{headers.get('host', 'localhost')}",
        target=target,
        caller=scope["extensions"][CONNECTION].caller(),
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
