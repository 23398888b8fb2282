"""The process of a running command: its arguments, variables, files and streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from csm_emulator.shell.budget import LONGEST_INPUT, Budget, BudgetExceeded
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.files import FileProblem, Files
from csm_emulator.shell.streams import Input, Output

MISUSED = 2
TICKS_PER_FILE = 20
"""The ticks of accessing one file."""


def lines_of(text: str) -> list[str]:
    """The lines without line feeds. Unlike ``str.splitlines``, a carriage return or a form feed does not end a line."""
    return text.removesuffix("\n").split("\n") if text else []


class UsageProblem(Exception):
    """The command does not accept an option or an operand; the message names it."""


@dataclass(slots=True)
class Process:
    argv: list[str]
    variables: Variables
    files: Files
    budget: Budget
    stdin: Input
    out: Output
    err: Output
    commands: Mapping[str, Program]
    """The commands of the shell that runs this process."""
    foreground: bool = False
    """Whether it is not in a pipe, a nested script or a redirection, so that it writes directly to the caller."""

    @property
    def name(self) -> str:
        return self.argv[0].rpartition("/")[2]

    async def complain(self, text: str, code: int = 1) -> int:
        await self.err.write(f"{self.name}: {text}\n")
        return code

    async def texts(self, paths: list[str]) -> list[tuple[str, str]]:
        """The path and text of each file, or of the input; an unreadable file is reported and left out."""
        result: list[tuple[str, str]] = []
        room = LONGEST_INPUT
        for path in paths or ["-"]:
            self.budget.spend(TICKS_PER_FILE)
            try:
                text = await self.source(path).read_all(self.budget)
            except FileProblem as problem:
                await self.complain(f"{path}: {problem}")
                continue
            result.append((path, text))
            room -= len(text)
            if room < 0:
                raise BudgetExceeded(f"{self.name} reads more than {LONGEST_INPUT} characters")
        return result

    def source(self, path: str) -> Input:
        """The input for a path; ``-`` is the standard input. Raises ``FileProblem``."""
        return self.stdin if path == "-" else Input(self.files.read(self.variables.absolute_path(path)))


Program = Callable[[Process], Awaitable[int]]
"""Returns the exit code; may raise ``UsageProblem`` and ``FileProblem``."""
