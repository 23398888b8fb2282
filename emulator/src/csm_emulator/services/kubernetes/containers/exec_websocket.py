"""Exec and attach over WebSockets: the first byte (or digit) of a message names its channel."""

from __future__ import annotations

import base64
import binascii
import json

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.containers.exec_session import (
    ERROR,
    STDERR,
    STDIN,
    STDOUT,
    ExecRequest,
    run_exec,
)
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.websocket import WebSocket, accept

BINARY = ("v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
BASE64 = ("v4.base64.channel.k8s.io", "base64.channel.k8s.io")
CLOSES = 255
"""In v5: the sender closes the channel whose number follows."""


def answer(call: Call, exec_request: ExecRequest, context: Context) -> Reply:
    async def talk(socket: WebSocket) -> None:
        peer = _Peer(socket)
        # An empty message on the first channel that the client reads tells it that it may begin.
        await peer.send(STDOUT if exec_request.stdout else STDERR if exec_request.stderr else ERROR, b"")
        await run_exec(peer, exec_request, context)

    return accept(call, talk, (*BINARY, *BASE64))


class _Peer:
    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._encoded = socket.protocol in BASE64

    async def receive(self) -> tuple[int, bytes, bool] | None:
        while (message := await self._socket.receive()) is not None:
            decoded = self._decode(message)
            if decoded is not None:
                return decoded
        return None

    def _decode(self, message: str | bytes) -> tuple[int, bytes, bool] | None:
        """(channel, data, last); None for an invalid message, which is dropped."""
        data = message.encode() if isinstance(message, str) else message
        if not data:
            return None
        if self._encoded:
            try:
                return data[0] - ord("0"), base64.b64decode(data[1:]), False
            except binascii.Error:
                return None
        if data[0] == CLOSES and self._socket.protocol == BINARY[0]:
            return (data[1], b"", True) if len(data) > 1 else None
        return data[0], data[1:], data[0] == STDIN and len(data) == 1 and self._socket.protocol != BINARY[0]

    async def send(self, channel: int, data: bytes) -> None:
        if self._encoded:
            await self._socket.send(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send(bytes([channel]) + data)

    async def finish(self, status: Json) -> None:
        """Before v4 an error is plain text, and success sends no message."""
        if self._socket.protocol.startswith(("v4", "v5")):
            await self.send(ERROR, json.dumps(status).encode())
        elif status["status"] != "Success":
            await self.send(ERROR, status["message"].encode())
        await self._socket.close()
