"""Exec and attach over SPDY/3.1: kubectl's default until 1.29, and its fallback when WebSockets fail."""

from __future__ import annotations

import asyncio
import json
from collections import deque

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.containers.exec_session import (
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    ExecRequest,
    run_exec,
)
from csm_emulator.services.kubernetes.statuses import bad_request
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.spdy import DataReceived, Spdy, StreamOpened, StreamReset
from csm_emulator.transport.spdy_headers import SpdyError
from csm_emulator.transport.tunnel import Tunnel

PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_HEADER = "x-stream-protocol-version"
_CHANNELS = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
STREAMS_WITHIN = 30.0
"""Real seconds in which the client must open all its streams."""


def answer(call: Call, exec_request: ExecRequest, context: Context) -> Reply:
    offered = [name.strip() for name in call.headers.get(_HEADER, "").split(",") if name.strip()]
    protocol = next((name for name in PROTOCOLS if name in (offered or PROTOCOLS[-1:])), None)
    if protocol is None:
        accepted = " ".join(PROTOCOLS)
        raise bad_request(
            f"unable to upgrade: unable to negotiate protocol: client supports {offered}, server accepts [{accepted}]"
        )
    headers = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", protocol))

    async def talk(tunnel: Tunnel) -> None:
        peer = _Peer(tunnel, protocol)
        try:
            async with asyncio.timeout(STREAMS_WITHIN):
                opened = await peer.wait_for_streams(exec_request.channels())
        except (SpdyError, TimeoutError):
            return
        if opened:
            await run_exec(peer, exec_request, context)

    return Reply(101, headers=headers, talk=talk)


class _Peer:
    def __init__(self, tunnel: Tunnel, protocol: str) -> None:
        self._tunnel = tunnel
        self._protocol = protocol
        self._spdy = Spdy()
        self._channels: dict[int, int] = {}
        """Channel by stream."""
        self._streams: dict[int, int] = {}
        """Stream by channel."""
        self._received: deque[tuple[int, bytes, bool]] = deque()

    async def wait_for_streams(self, channels: set[int]) -> bool:
        """Wait until the client has opened these channels; False when it goes away first."""
        while not channels <= set(self._streams):
            if not await self._read():
                return False
        return True

    async def receive(self) -> tuple[int, bytes, bool] | None:
        try:
            while not self._received:
                if not await self._read():
                    return None
        except SpdyError:
            return None
        return self._received.popleft()

    async def _read(self) -> bool:
        data = await self._tunnel.read()
        for event in self._spdy.receive(data):
            if isinstance(event, StreamOpened):
                self._open(event)
            elif isinstance(event, DataReceived) and event.stream in self._channels:
                self._received.append((self._channels[event.stream], event.data, event.last))
            elif isinstance(event, StreamReset) and event.stream in self._channels:
                self._received.append((self._channels[event.stream], b"", True))
        await self._flush()
        return bool(data)

    def _open(self, event: StreamOpened) -> None:
        channel = _CHANNELS.get(event.headers.get("streamtype", ""))
        if channel is None or channel in self._streams:
            self._spdy.refuse(event.stream)
            return
        self._streams[channel] = event.stream
        self._channels[event.stream] = channel
        self._spdy.accept(event.stream)
        if event.last:
            self._received.append((channel, b"", True))

    async def send(self, channel: int, data: bytes) -> None:
        if channel in self._streams:
            self._spdy.send_data(self._streams[channel], data)
            await self._flush()

    async def finish(self, status: Json) -> None:
        """End the streams and send the status; the client closes the connection after it has read everything."""
        for channel in (STDOUT, STDERR):
            if channel in self._streams:
                self._spdy.send_data(self._streams[channel], b"", last=True)
        if self._protocol == PROTOCOLS[0]:
            payload = json.dumps(status).encode()
        else:
            payload = b"" if status["status"] == "Success" else status["message"].encode()
        self._spdy.send_data(self._streams[ERROR], payload, last=True)
        self._spdy.send_goaway()
        await self._flush()

    async def _flush(self) -> None:
        data = self._spdy.take_output()
        if data:
            await self._tunnel.write(data)
