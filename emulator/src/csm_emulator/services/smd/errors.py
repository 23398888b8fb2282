"""Why SMD does not do what it was asked: what it tells the caller, and what it keeps to itself."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import Undecodable, decode
from csm_emulator.dialects.go_json.types import Kind
from csm_emulator.services.smd.responses import problem, undecodable_body
from csm_emulator.transport.call import Call, Json, Reply
from csm_emulator.transport.routes import Handler

NO_DATABASE = "failed to query DB."


class HmsError(Exception):
    """An error of HMS's own: its text goes to the caller."""


class DatabaseError(Exception):
    """PostgreSQL would not take it: the caller learns no more than that."""


class RequestRejected(Exception):
    """There is no more to do than to say this."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.reply = problem(status, detail)


def with_error_replies(handler: Handler) -> Handler:
    """A handler that may leave by ``Answered`` and by ``Undecodable``."""

    def handle(call: Call) -> Reply:
        try:
            return handler(call)
        except RequestRejected as rejection:
            return rejection.reply
        except Undecodable as error:
            return undecodable_body(error)

    return handle


def with_body(kind: Kind, handler: Callable[[Call, Json], Reply]) -> Handler:
    """A handler that is given its body decoded."""
    return with_error_replies(lambda call: handler(call, decode(call.body, kind)))


def error_reply(error: HmsError | DatabaseError, prefix: str = "", database_message: str = NO_DATABASE) -> Reply:
    if isinstance(error, HmsError):
        return problem(400, f"{prefix}{error}")
    return problem(500, database_message)


def check_widths(*columns: tuple[str, int]) -> None:
    """Texts, and how many characters their columns hold; raises ``DatabaseError``."""
    for text, width in columns:
        if len(text) > width or "\0" in text:
            raise DatabaseError
