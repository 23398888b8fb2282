"""What is decided by the head of a request, before any of its body is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from csm_emulator.transport.call import Call, Reply, text_reply

TOO_LARGE = text_reply("Payload Too Large", 413, "text/plain")
Answer = Callable[[Call], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AdmittedRequest:
    """Who answers the request when its body is there, and how large that may be."""

    answer: Answer
    body_limit: int
    too_large: Reply = TOO_LARGE


Admit = Callable[[Call], AdmittedRequest | Reply]
"""Asked with a call that has no body yet; a reply is the answer at once."""


def admit_all(body_limit: int, answer: Answer, too_large: Reply = TOO_LARGE) -> Admit:
    """Everybody is let in."""
    admitted = AdmittedRequest(answer, body_limit, too_large)
    return lambda _: admitted
