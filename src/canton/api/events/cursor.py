"""The cursor of a reader of events: how far it has come in every stream, as one text for `Last-Event-ID`.

It holds only numbers of events, so any server can continue from it, also after a restart. It is not signed: a forged
one only reads from another position in the streams that its reader may see, and the position is checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from canton.domain.errors import InvalidCursor
from canton.domain.json_types import canonical
from canton.store.outbox import PROVIDER

# 500 streams with names of 31 characters and millions of events each.
LONGEST = 24_000
_CURSOR = re.compile(r"e1~([0-9a-f]{8})((?:~(?:[a-z][a-z0-9-]{0,31})?\.[1-9][0-9]{0,17})*)", re.ASCII)


class Positions:
    """The number of the last event read, by stream; a stream that is missing has not been read yet."""

    def __init__(self, mark: str, positions: Mapping[str, int]) -> None:
        self._mark = mark
        self._numbers: dict[str, int] = {}
        # The cursor is written for every event: only the part that changed is made anew.
        self._parts: dict[str, str] = {}
        for stream, number in positions.items():
            if number:
                self.advance(stream, number)

    def at(self, stream: str) -> int:
        return self._numbers.get(stream, 0)

    def advance(self, stream: str, number: int) -> None:
        self._numbers[stream] = number
        self._parts[stream] = f"~{'' if stream == PROVIDER else stream}.{number}"

    def cursor(self) -> str:
        return f"e1~{self._mark}{''.join(self._parts.values())}"

    def items(self) -> Mapping[str, int]:
        return self._numbers


def mark(tenant: str | None, subject: str | None) -> str:
    """A hash of the filters in eight characters: a cursor is only valid with the filters that it was made with."""
    return hashlib.sha256(canonical([tenant, subject]).encode()).hexdigest()[:8]


def parse(cursor: str, expected: str) -> Positions:
    match = _CURSOR.fullmatch(cursor) if len(cursor) <= LONGEST else None
    if match is None:
        raise InvalidCursor(
            "this is not a cursor of the event stream; send the id of the last event that was received, or start "
            "for the beginning"
        )
    if match[1] != expected:
        raise InvalidCursor(
            "the cursor belongs to another filter; use it with the tenant and subject that it came from"
        )
    parts = [part.rpartition(".") for part in match[2].split("~")[1:]]
    positions = {name or PROVIDER: int(number) for name, _, number in parts}
    if len(positions) != len(parts):
        raise InvalidCursor("the cursor names a stream twice; send the id of the last event that was received")
    return Positions(expected, positions)
