"""A connection after an upgrade: bytes, both ways."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

MOST_UNREAD = 256 << 10
"""What has come and nobody has read: a peer that sends more has to wait."""


class Tunnel:
    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        self._transport = transport
        self._flow = flow
        self._buffer = bytearray()
        self._data_event = asyncio.Event()
        self._ended = False

    def feed(self, data: bytes) -> None:
        self._buffer += data
        self._data_event.set()
        if len(self._buffer) > MOST_UNREAD:
            self._flow.pause_reading()

    def feed_end(self) -> None:
        self._ended = True
        self._data_event.set()

    async def read(self) -> bytes:
        """What has come, as soon as something has; empty at the end."""
        while not self._buffer and not self._ended:
            self._data_event.clear()
            await self._data_event.wait()
        data = bytes(self._buffer)
        self._buffer.clear()
        self._flow.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Waits while the peer is slow; what is said to one that is gone is lost."""
        if self._ended:
            return
        self._transport.write(data)
        if self._flow.write_paused:
            await self._flow.drain()

    def close(self) -> None:
        self._transport.close()
