"""Readers of events in this process: bare sockets, and as little work for each event as can be."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bench.serving import Installation

BATCH = 10
"""How many events are published at a time."""
_NUMBER = re.compile(rb'"n":(\d+)')


class Reader(asyncio.Protocol):
    """Keeps the number of every event, and for the last event of each batch the time of its arrival."""

    def __init__(self, request: bytes, *, reads: bool = True) -> None:
        self.request = request
        self.reads = reads
        self.open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.numbers: list[int] = []
        self.came: dict[int, float] = {}
        self.lost = False
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        whole, _, self._rest = (self._rest + data).rpartition(b"\n\n")
        numbers = [int(digits) for digits in _NUMBER.findall(whole)]
        self.numbers += numbers
        now = time.monotonic()
        self.came.update((n, now) for n in numbers if n % BATCH == BATCH - 1)
        if not self.open.done():
            self._look_at_head(whole or self._rest)

    def _look_at_head(self, head: bytes) -> None:
        if not head.startswith(b"HTTP/1.1 200"):
            self.open.set_exception(AssertionError(f"a reader was answered: {head[:500]!r}"))
        elif b"\nretry:" in head:
            self.open.set_result(None)
            if not self.reads:
                self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.lost = True
        if not self.open.done():
            self.open.set_exception(ConnectionError("the server closed a reader's connection"))


@dataclass
class Readers:
    """Readers of events, each on its own connection."""

    installation: Installation
    all: list[Reader] = field(default_factory=list)

    async def join(self, count: int, *, reads: bool = True) -> list[Reader]:
        turn = asyncio.Semaphore(50)

        async def one() -> Reader:
            async with turn:
                return await self._connect(reads=reads)

        joined = await asyncio.gather(*(one() for _ in range(count)))
        self.all += joined
        return joined

    async def _connect(self, *, reads: bool) -> Reader:
        where = urlsplit(self.installation.url)
        request = (
            f"GET /v1/events HTTP/1.1\r\nHost: {where.netloc}\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {self.installation.admin}\r\n\r\n"
        ).encode()
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if not reads:
            # Else the system would take megabytes on its behalf before the server notices anything.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(30):
            await loop.sock_connect(connection, (where.hostname, where.port))
            _, reader = await loop.create_connection(lambda: Reader(request, reads=reads), sock=connection)
            await reader.open
        return reader

    def leave(self) -> None:
        for reader in self.all:
            reader.transport.abort()


async def until(true: Callable[[], bool], seconds: float) -> None:
    """Evaluate the condition every 0.1 s only: more frequent evaluation would slow the server down."""
    async with asyncio.timeout(seconds):
        while True:
            if true():
                return
            await asyncio.sleep(0.1)
