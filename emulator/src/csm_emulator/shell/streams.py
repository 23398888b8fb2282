"""Where commands read from and write to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from csm_emulator.shell.budget import Budget
from csm_emulator.shell.files import LONGEST_FILE, Files

PIPE = 256 << 10
"""Characters that a pipe takes: what writes more has no reader, as nothing reads while it runs."""
BROKEN_PIPE = 141


class PipeBroken(Exception):
    """The command that writes is ended, without a word."""


class Output(Protocol):
    async def write(self, text: str) -> None:
        """Raises ``BudgetExceeded``, ``PipeBroken`` and ``FileProblem``."""


class Input:
    """Text in pieces."""

    def __init__(self, pieces: Iterator[str] | None = None, more: Callable[[], Awaitable[str]] | None = None) -> None:
        self._pieces = iter(()) if pieces is None else pieces
        self._more = more
        self._left = ""

    async def read(self) -> str:
        """The next piece; empty at the end."""
        if self._left:
            piece, self._left = self._left, ""
            return piece
        for piece in self._pieces:
            if piece:
                return piece
        return await self._more() if self._more else ""

    async def line(self) -> str:
        """With its end; without one at the end of the input."""
        line = ""
        while "\n" not in line and (piece := await self.read()):
            line += piece
            if len(line) > LONGEST_FILE:
                break
        line, end, self._left = line.partition("\n")
        return line + end

    async def whole(self, budget: Budget) -> str:
        """All of it, as far as there is room for it: an endless one ends where a pipe would."""
        parts: list[str] = []
        room = PIPE
        while room > 0 and (piece := budget.handle(await self.read())):
            parts.append(piece[:room])
            room -= len(piece)
        return "".join(parts)


class Pipe:
    """Holds what one command writes until the next reads it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[str] = []
        self._room = PIPE

    async def write(self, text: str) -> None:
        self._budget.write(text[: self._room])
        self._parts.append(text[: self._room])
        self._room -= len(text)
        if self._room < 0:
            raise PipeBroken

    def text(self) -> str:
        return "".join(self._parts)


class FileOutput:
    """Written as it comes, so that what is there when the command fails stays."""

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
