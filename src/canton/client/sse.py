"""Server-sent events from bytes, however they are cut (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile("\r\n|\n|\r")


class Message(NamedTuple):
    """One event: its kind, its data, and the id to resume after it."""

    kind: str
    data: str
    id: str


class Parser:
    """Takes bytes as they arrive and gives the messages that are complete."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        """The id to resume after; moves only when a message is complete."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._id = last_id
        self._kind = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Message]:
        for line in self._lines(self._decoder.decode(chunk)):
            if line:
                self._field(line)
                continue
            self.last_id = self._id
            if self._data:
                yield Message(self._kind or "message", "\n".join(self._data), self.last_id)
            self._kind, self._data = "", []

    def _lines(self, text: str) -> Iterator[str]:
        """Whole lines. A CR at the very end is kept back: it may be the first half of a CRLF."""
        self._rest += text
        ends_with_cr = self._rest.endswith("\r")
        *lines, incomplete = _LINE_END.split(self._rest[:-1] if ends_with_cr else self._rest)
        self._rest = incomplete + "\r" * ends_with_cr
        return iter(lines)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._id = value
