"""Notices to subscribers: sent once, in the background, to loopback addresses only, without retry."""

from __future__ import annotations

import asyncio
import json
import logging

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON
from csm_emulator.transport.external_servers import ExternalRequest, ExternalServerUnreachable, send_in_thread

log = logging.getLogger("csm_emulator.transport.webhooks")
MOST = 10_000
SENDERS = 4
TIMEOUT = 5.0


class Webhooks:
    """``post`` never waits; notices that do not fit the queue or cannot be sent are dropped with a log line."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[ExternalRequest] = asyncio.Queue(MOST)

    def post(self, url: str, body: Json) -> None:
        try:
            self._waiting.put_nowait(ExternalRequest(url, json.dumps(body).encode(), (("Content-Type", JSON),)))
        except asyncio.QueueFull:
            log.warning("notice to %s dropped: %d are waiting already", url, MOST)

    async def send_forever(self) -> None:
        async with asyncio.TaskGroup() as senders:
            for _ in range(SENDERS):
                senders.create_task(self._send_forever())

    async def _send_forever(self) -> None:
        while True:
            notice = await self._waiting.get()
            answer = await send_in_thread(notice, TIMEOUT)
            if isinstance(answer, ExternalServerUnreachable):
                log.warning("notice to %s failed: %s", notice.url, answer)
