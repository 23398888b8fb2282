"""Calls and replies over uvicorn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from csm_emulator.transport.admission import Admit
from csm_emulator.transport.call import Call, ConnectionAborted, Reply, Stream, Talk
from csm_emulator.transport.connection import CONNECTION, MOST_HEADERS, Connection, method_of

# The values of ASGI's messages have the type that the specification gives to their names.
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_PIECE = 1 << 20
_BODILESS = frozenset({204, 304})
_LONGEST_HEADERS = 60 << 10
"""As in Envoy, which also counts the first line; here that is not counted, as a query may name 10,000 nodes."""
_CLOSE = ("connection", "close")
_HEAD_TOO_LARGE = Reply(431, headers=(_CLOSE,))
_DRAIN_SECONDS = 5.0
"""Seconds for which the body of an answered request is still read."""


@dataclass(frozen=True, slots=True)
class App:
    """An ASGI application that calls ``admit`` for each request, and then the function that it returns."""

    admit: Admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"unsupported ASGI scope {scope['type']}")
        try:
            await self._serve(scope, _RequestBody(receive), send)
        except (ConnectionAborted, asyncio.CancelledError):
            # Cancelled: the listener has waited long enough for a client that does not read.
            scope["extensions"][CONNECTION].cut()
            await _wait_for_disconnect(receive)

    async def _serve(self, scope: Scope, body: _RequestBody, send: Send) -> None:
        call = _call(scope)
        admitted = _HEAD_TOO_LARGE if _has_too_many_headers(scope) else self.admit(call)
        if isinstance(admitted, Reply):
            await _reject(call, body, send, admitted)
            return
        data = await body.read(admitted.body_limit) if _declared_length(call) <= admitted.body_limit else None
        if data is None:
            await _reject(call, body, send, admitted.too_large)
            return
        reply = await admitted.answer(replace(call, body=data))
        connection = scope["extensions"][CONNECTION]
        if reply.talk is not None:
            await _talk(connection, reply, reply.talk)
        elif reply.stream is not None and call.method != "HEAD":
            connection.streaming = True
            await _send_stream(body.receive, send, reply, reply.stream)
            connection.streaming = False
        else:
            await _send(send, reply, head=call.method == "HEAD")


class _RequestBody:
    """The body of a request, read piece by piece."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self._more = True

    async def read(self, limit: int) -> bytes | None:
        """The whole body, or None, without reading on, when it exceeds the limit.

        Raises ``ConnectionAborted`` when the client disconnects before the end.
        """
        chunks, size = [], 0
        while self._more:
            chunk = await self._piece()
            size += len(chunk)
            if size > limit:
                return None
            chunks.append(chunk)
        return b"".join(chunks)

    async def drop(self) -> None:
        """Reads and discards the remaining body; raises ``ConnectionAborted`` when it takes too long."""
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while self._more:
                    await self._piece()
        except TimeoutError as error:
            raise ConnectionAborted from error

    async def _piece(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAborted
        self._more = message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        return piece


def _has_too_many_headers(scope: Scope) -> bool:
    headers = scope["headers"]
    return len(headers) > MOST_HEADERS or sum(len(name) + len(value) for name, value in headers) > _LONGEST_HEADERS


def _declared_length(call: Call) -> int:
    """The Content-Length; 0 if there is none."""
    # The HTTP parser has already refused a value that is not a number.
    return int(call.headers.get("content-length") or 0)


async def _reject(call: Call, body: _RequestBody, send: Send, reply: Reply) -> None:
    """Responds at once and discards the body: closing while the client sends could destroy the response."""
    if call.headers.get("expect", "").lower() == "100-continue":
        # The client may or may not send the body, so it is unknown where the next request begins.
        await _send(send, replace(reply, headers=(*reply.headers, _CLOSE)), head=call.method == "HEAD")
        return
    await _send(send, reply, head=call.method == "HEAD", more=True)
    await body.drop()
    await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _talk(connection: Connection, reply: Reply, talk: Talk) -> None:
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in reply.headers)]
    tunnel = connection.open_tunnel("\r\n".join([*lines, "", ""]).encode("latin-1"))
    try:
        await talk(tunnel)
    finally:
        tunnel.close()


def _joined(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; several lines of one name are joined by commas."""
    headers: dict[str, list[str]] = {}
    for name, value in lines:
        headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return {name: ", ".join(values) for name, values in headers.items()}


def _call(scope: Scope) -> Call:
    """The request, without its body."""
    headers = _joined(scope["headers"])
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    client = scope.get("client")
    return Call(
        method_of(scope["method"]),
        scope["path"],
        tuple(parse_qsl(query, keep_blank_values=True, errors="replace")),
        headers,
        peer=client[0] if client else "",
        base=f"{scope['scheme']}://{headers.get('host', 'localhost')}",
        target=target,
        caller=scope["extensions"][CONNECTION].caller(),
    )


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in reply.headers]
    if reply.media:
        headers.append((b"content-type", reply.media.encode("latin-1")))
    return headers


async def _send_stream(receive: Receive, send: Send, reply: Reply, stream: Stream) -> None:
    """Sends a stream until its end or until the client disconnects; a full connection slows it down."""
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
    # The head is sent at once, so that a client that follows a silent log sees the request accepted.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
    pieces = stream()
    try:
        while True:
            piece = asyncio.ensure_future(anext(pieces, None))
            await asyncio.wait((piece, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if disconnected.done():
                piece.cancel()
                await asyncio.wait((piece,))
                return
            data = piece.result()
            if data is None:
                break
            await send({"type": "http.response.body", "body": data, "more_body": True})
    finally:
        disconnected.cancel()
        await pieces.aclose()
    await send({"type": "http.response.body", "body": b""})


async def _send(send: Send, reply: Reply, *, head: bool, more: bool = False) -> None:
    """Sends a reply; with ``more`` the caller has to end the body."""
    headers = _headers(reply)
    if reply.status not in _BODILESS and reply.stream is None:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if head or reply.status in _BODILESS else reply.body
    # In pieces, so that a full connection can pause it: a slow reader does not fill the memory.
    for start in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": body[-(len(body) % _PIECE or _PIECE) :], "more_body": more})
