"""Notices to those who subscribed: sent once, soon, to this machine only, and forgotten."""

from __future__ import annotations

import asyncio
import json
import logging

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON
from csm_emulator.transport.external_servers import Question, Unreachable, ask_beside

log = logging.getLogger("csm_emulator.transport.webhooks")
MOST = 10_000
SENDERS = 4
TIMEOUT = 5.0


class Webhooks:
    """``post`` never waits; what does not fit, or is for elsewhere, is dropped with a line in the log."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Question] = asyncio.Queue(MOST)

    def post(self, url: str, body: Json) -> None:
        try:
            self._waiting.put_nowait(Question(url, json.dumps(body).encode(), (("Content-Type", JSON),)))
        except asyncio.QueueFull:
            log.warning("no notice to %s: %d are waiting already", url, MOST)

    async def send_forever(self) -> None:
        async with asyncio.TaskGroup() as senders:
            for _ in range(SENDERS):
                senders.create_task(self._send_forever())

    async def _send_forever(self) -> None:
        while True:
            notice = await self._waiting.get()
            answer = await ask_beside(notice, TIMEOUT)
            if isinstance(answer, Unreachable):
                log.warning("no notice to %s: %s", notice.url, answer)
