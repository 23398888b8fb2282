"""Notices to those who subscribed: sent once, soon, to this machine only, and forgotten."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
from urllib.parse import urlsplit

from canton.emulator.wire.call import JSON, Json
from canton.emulator.wire.listening import is_loopback

log = logging.getLogger("canton.emulator.outbox")
MOST = 10_000
SENDERS = 4
TIMEOUT = 5.0


class Outbox:
    """``post`` never waits; what does not fit, or is for elsewhere, is dropped with a line in the log."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(MOST)

    def post(self, url: str, body: Json) -> None:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError as error:
            log.warning("no notice to %s: %s", url, error)
            return
        if not is_loopback(host):
            log.warning("no notice to %s: the emulator talks to loopback only", url)
            return
        try:
            self._waiting.put_nowait((url, json.dumps(body).encode()))
        except asyncio.QueueFull:
            log.warning("no notice to %s: %d are waiting already", url, MOST)

    async def send_forever(self) -> None:
        async with asyncio.TaskGroup() as senders:
            for _ in range(SENDERS):
                senders.create_task(self._send_forever())

    async def _send_forever(self) -> None:
        while True:
            url, body = await self._waiting.get()
            try:
                await asyncio.to_thread(_send, url, body)
            except (OSError, http.client.HTTPException, ValueError) as error:
                log.warning("no notice to %s: %s", url, error)


def _send(url: str, body: bytes) -> None:
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=TIMEOUT)
    try:
        path = f"{place.path or '/'}{'?' + place.query if place.query else ''}"
        connection.request("POST", path, body, {"Content-Type": JSON})
        connection.getresponse().read(65536)
    finally:
        connection.close()
