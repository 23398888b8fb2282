"""The decision whether to accept a request, made by its head, before any of its body is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from csm_emulator.transport.call import Call, Reply, text_reply

TOO_LARGE = text_reply("Payload Too Large", 413, "text/plain")
Answer = Callable[[Call], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AdmittedRequest:
    """An accepted request: the function that answers it once the body is read, and the limit of the body."""

    answer: Answer
    body_limit: int
    too_large: Reply = TOO_LARGE


Admit = Callable[[Call], AdmittedRequest | Reply]
"""Gets a call without its body; a ``Reply`` is the response at once, without reading the body."""


def admit_all(body_limit: int, answer: Answer, too_large: Reply = TOO_LARGE) -> Admit:
    """Accepts every request, with a limit on its body."""
    admitted = AdmittedRequest(answer, body_limit, too_large)
    return lambda _: admitted
