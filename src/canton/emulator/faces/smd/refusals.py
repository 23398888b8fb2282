"""Why SMD does not do what it was asked: what it tells the caller, and what it keeps to itself."""

from __future__ import annotations

from canton.emulator.faces.smd.problems import problem
from canton.emulator.wire.call import Reply

NO_DATABASE = "failed to query DB."


class Refusal(Exception):
    """An error of HMS's own: its text goes to the caller."""


class DatabaseError(Exception):
    """PostgreSQL would not take it: the caller learns no more than that."""


def refused(error: Refusal | DatabaseError, prefix: str = "", hidden: str = NO_DATABASE) -> Reply:
    if isinstance(error, Refusal):
        return problem(400, f"{prefix}{error}")
    return problem(500, hidden)


def fits(*columns: tuple[str, int]) -> None:
    """Texts, and how many characters their columns hold; raises ``DatabaseError``."""
    for text, width in columns:
        if len(text) > width or "\0" in text:
            raise DatabaseError
