"""Responses of external servers: fetched in the background, and known when the request is handled again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from csm_emulator.transport.call import Reply
from csm_emulator.transport.external_servers import (
    AnswerPending,
    ExternalRequest,
    ExternalServerUnreachable,
    send_in_thread,
)

TIMEOUT = 30.0
"""Seconds, as the API server waits for a webhook."""
MAX_PARALLEL = 16
"""Requests to external servers at the same time; others wait."""
Answers = dict[ExternalRequest, Reply | ExternalServerUnreachable]


class ExternalAnswers:
    """A request brings its known responses along; those for due actions, which run one at a time, are kept here."""

    def __init__(self) -> None:
        self._due: Answers = {}
        self._known = self._due
        self._fetching: dict[ExternalRequest, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(MAX_PARALLEL)

    @contextmanager
    def use(self, answers: Answers) -> Iterator[None]:
        """Uses these responses while a request is handled."""
        self._known = answers
        try:
            yield
        finally:
            self._known = self._due

    def answer_to(self, question: ExternalRequest) -> Reply:
        answer = self._known.get(question)
        if answer is None:
            raise AnswerPending(question)
        if isinstance(answer, ExternalServerUnreachable):
            raise answer
        return answer

    def fetch(self, question: ExternalRequest) -> None:
        if question not in self._fetching:
            self._fetching[question] = asyncio.ensure_future(self._fetch(question))

    async def _fetch(self, question: ExternalRequest) -> None:
        try:
            self._due[question] = await self.ask(question)
        finally:
            del self._fetching[question]

    def clear(self) -> None:
        self._due.clear()

    async def turn(self) -> None:
        """Lets other tasks run; while responses are being fetched, until one arrives."""
        if self._fetching:
            await asyncio.wait(self._fetching.values(), return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(0)

    async def ask(self, question: ExternalRequest) -> Reply | ExternalServerUnreachable:
        async with self._places:
            return await send_in_thread(question, TIMEOUT)
