"""A connection after an upgrade: bytes in both directions."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

MOST_UNREAD = 256 << 10
"""Received bytes that may wait to be read; then the peer is slowed down."""


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
        """The received bytes, as soon as there are some; empty at the end."""
        while not self._buffer and not self._ended:
            self._data_event.clear()
            await self._data_event.wait()
        data = bytes(self._buffer)
        self._buffer.clear()
        self._flow.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Sends bytes; waits while the peer is slow, and drops them if it has disconnected."""
        if self._ended:
            return
        self._transport.write(data)
        if self._flow.write_paused:
            await self._flow.drain()

    def close(self) -> None:
        self._transport.close()
