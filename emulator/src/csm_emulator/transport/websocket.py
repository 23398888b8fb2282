"""WebSockets for services: the protocol is the ``websockets`` library's, the connection is a tunnel."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from websockets.datastructures import Headers
from websockets.exceptions import InvalidState, ProtocolError
from websockets.frames import Close, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.tunnel import Tunnel

_HANDSHAKE = ("connection", "upgrade", "host", "origin", "sec-websocket-")
MOST = 1 << 20
"""Bytes of the longest message."""


class WebSocket:
    """An open WebSocket."""

    def __init__(self, protocol: ServerProtocol, tunnel: Tunnel, subprotocol: str) -> None:
        self._protocol = protocol
        self._tunnel = tunnel
        self.protocol = subprotocol
        """The negotiated subprotocol; empty without one."""
        self._pieces: list[bytes] = []
        self._text = False
        self._messages: deque[str | bytes] = deque()

    async def receive(self) -> str | bytes | None:
        """The next message; None when the client has closed or disconnected."""
        while not self._messages:
            if self._protocol.state is not State.OPEN:
                return None
            data = await self._tunnel.read()
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for event in self._protocol.events_received():
                if isinstance(event, Frame):
                    self._take(event)
            await self._flush()
        return self._messages.popleft()

    def _take(self, frame: Frame) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._text, self._pieces = frame.opcode is Opcode.TEXT, []
        elif frame.opcode is not Opcode.CONT:
            return
        self._pieces.append(bytes(frame.data))
        if frame.fin:
            whole = b"".join(self._pieces)
            self._messages.append(whole.decode("utf-8", "replace") if self._text else whole)

    async def send(self, message: str | bytes) -> None:
        """Sends a message; it is dropped if the client has disconnected."""
        with contextlib.suppress(InvalidState, ProtocolError):
            if isinstance(message, str):
                self._protocol.send_text(message.encode())
            else:
                self._protocol.send_binary(message)
        await self._flush()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        with contextlib.suppress(InvalidState, ProtocolError):
            self._protocol.send_close(code, reason)
        await self._flush()

    @property
    def closed(self) -> Close | None:
        """The close frame of the client."""
        return self._protocol.close_rcvd

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                await self._tunnel.write(data)


def accept(call: Call, talk: Callable[[WebSocket], Awaitable[None]], protocols: Sequence[str] = ()) -> Reply:
    """The response to a handshake; an invalid one is refused as the library does. The subprotocol is the first of
    ``protocols`` that the client offers.
    """
    offered = [Subprotocol(name) for name in protocols] or None
    handshake = ServerProtocol(subprotocols=offered, select_subprotocol=_first_known)
    headers = Headers()
    for name, value in call.headers.items():
        # Other headers are left out, as the library refuses some values that services accept.
        if name.startswith(_HANDSHAKE):
            headers[name] = value.strip()
    response = handshake.accept(Request(call.target or call.path, headers))
    response_headers = [(name, value) for name, value in response.headers.raw_items() if name.lower() != "date"]
    if response.status_code != 101:
        reply_headers = [
            (name, value) for name, value in response_headers if name.lower() not in ("content-length", "connection")
        ]
        return Reply(response.status_code, bytes(response.body or b""), headers=reply_headers)

    async def open_and_talk(tunnel: Tunnel) -> None:
        socket = WebSocket(ServerProtocol(state=State.OPEN, max_size=MOST), tunnel, handshake.subprotocol or "")
        await talk(socket)
        await socket.close()

    return Reply(101, headers=response_headers, talk=open_and_talk)


def _first_known(server: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The first supported subprotocol that the client offers; None lets the client decide whether to go on."""
    return next((name for name in server.available_subprotocols or () if name in offered), None)
