"""Errors of SMD: those whose text the caller gets, and those of the database, whose text stays in SMD."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import GoType
from csm_emulator.records import Json
from csm_emulator.services.smd.responses import problem, undecodable_body
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler

NO_DATABASE = "failed to query DB."


class HmsError(Exception):
    """An error that HMS raised itself: SMD sends its text to the caller."""


class DatabaseError(Exception):
    """PostgreSQL refused the statement: SMD sends a general message instead of the reason."""


class RequestRejected(Exception):
    """The request ends with this problem document."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.reply = problem(status, detail)


def with_error_replies(handler: Handler) -> Handler:
    """The handler, with ``RequestRejected`` and ``Undecodable`` turned into replies."""

    def handle(call: Call) -> Reply:
        try:
            return handler(call)
        except RequestRejected as rejection:
            return rejection.reply
        except DecodeError as error:
            return undecodable_body(error)

    return handle


def with_body(kind: GoType, handler: Callable[[Call, Json], Reply]) -> Handler:
    """A handler of a call and its decoded body, as a handler of a call."""
    return with_error_replies(lambda call: handler(call, decode(call.body, kind)))


def error_reply(error: HmsError | DatabaseError, prefix: str = "", database_message: str = NO_DATABASE) -> Reply:
    if isinstance(error, HmsError):
        return problem(400, f"{prefix}{error}")
    return problem(500, database_message)


def check_widths(*columns: tuple[str, int]) -> None:
    """Check pairs of a text and the width of its column in characters; raises ``DatabaseError``."""
    for text, width in columns:
        if len(text) > width or "\0" in text:
            raise DatabaseError
