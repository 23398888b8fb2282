"""The input and output streams of commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from csm_emulator.shell.budget import Budget
from csm_emulator.shell.files import LONGEST_FILE, Files

PIPE_CAPACITY = 256 << 10
"""The characters that a pipe holds. The reader starts when the writer has ended, so that more cannot be read."""
BROKEN_PIPE = 141


class PipeBroken(Exception):
    """A command wrote more than its pipe holds; it ends without a message."""


class Output(Protocol):
    async def write(self, text: str) -> None:
        """May raise ``BudgetExceeded``, ``PipeBroken`` and ``FileProblem``."""


class Input:
    """Text that arrives in pieces; ``read_more`` returns further ones, and an empty one at the end."""

    def __init__(
        self, pieces: Iterator[str] | None = None, read_more: Callable[[], Awaitable[str]] | None = None
    ) -> None:
        self._pieces = iter(()) if pieces is None else pieces
        self._read_more = read_more
        self._remainder = ""

    async def read(self) -> str:
        """The next piece; empty at the end."""
        if self._remainder:
            piece, self._remainder = self._remainder, ""
            return piece
        for piece in self._pieces:
            if piece:
                return piece
        return await self._read_more() if self._read_more else ""

    async def line(self) -> str:
        """The next line with its line feed; the last line may have none."""
        line = ""
        while "\n" not in line and (piece := await self.read()):
            line += piece
            if len(line) > LONGEST_FILE:
                break
        line, end, self._remainder = line.partition("\n")
        return line + end

    async def read_all(self, budget: Budget) -> str:
        """All remaining text, up to the capacity of a pipe, since some devices never end."""
        parts: list[str] = []
        room = PIPE_CAPACITY
        while room > 0 and (piece := budget.handle(await self.read())):
            parts.append(piece[:room])
            room -= len(piece)
        return "".join(parts)


class Pipe:
    """Holds the output of one command until the next command reads it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[str] = []
        self._room = PIPE_CAPACITY

    async def write(self, text: str) -> None:
        self._budget.write(text[: self._room])
        self._parts.append(text[: self._room])
        self._room -= len(text)
        if self._room < 0:
            raise PipeBroken

    def text(self) -> str:
        return "".join(self._parts)


class FileOutput:
    """Appends to a file immediately, so that the output of a command that fails later remains."""

    def __init__(self, files: Files, path: str, budget: Budget, *, append: bool) -> None:
        self._files = files
        self._path = path
        self._budget = budget
        files.write(path, "", append=append)

    async def write(self, text: str) -> None:
        self._budget.write(text)
        self._files.write(self._path, text, append=True)


class CallerOutput:
    """Sends output to the client that runs the shell."""

    def __init__(self, send: Callable[[str], Awaitable[None]], budget: Budget) -> None:
        self._send = send
        self._budget = budget

    async def write(self, text: str) -> None:
        self._budget.write(text)
        if text:
            with self._budget.waiting():
                await self._send(text)
