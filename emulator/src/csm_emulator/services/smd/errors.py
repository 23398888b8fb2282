"""Why SMD does not do what it was asked: what it tells the caller, and what it keeps to itself."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import GoType
from csm_emulator.records import Json
from csm_emulator.services.smd.responses import problem, undecodable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler

NO_DATABASE = "failed to query DB."


class Refusal(Exception):
    """An error of HMS's own: its text goes to the caller."""


class DatabaseError(Exception):
    """PostgreSQL would not take it: the caller learns no more than that."""


class Answered(Exception):
    """There is no more to do than to say this."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.reply = problem(status, detail)


def answering(handler: Handler) -> Handler:
    """A handler that may leave by ``Answered`` and by ``DecodeError``."""

    def handle(call: Call) -> Reply:
        try:
            return handler(call)
        except Answered as answered:
            return answered.reply
        except DecodeError as error:
            return undecodable(error)

    return handle


def with_body(kind: GoType, handler: Callable[[Call, Json], Reply]) -> Handler:
    """A handler that is given its body decoded."""
    return answering(lambda call: handler(call, decode(call.body, kind)))


def refused(error: Refusal | DatabaseError, prefix: str = "", hidden: str = NO_DATABASE) -> Reply:
    if isinstance(error, Refusal):
        return problem(400, f"{prefix}{error}")
    return problem(500, hidden)


def fits(*columns: tuple[str, int]) -> None:
    """Texts, and how many characters their columns hold; raises ``DatabaseError``."""
    for text, width in columns:
        if len(text) > width or "\0" in text:
            raise DatabaseError
