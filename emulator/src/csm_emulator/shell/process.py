"""A command that runs, as the command itself sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from csm_emulator.shell.budget import LONGEST_INPUT, Budget, BudgetExceeded
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.files import FileProblem, Files
from csm_emulator.shell.streams import Input, Output

MISUSED = 2
PATH = 20
"""Ticks for each file that a command looks at."""


def lines_of(text: str) -> list[str]:
    """Without their ends. A carriage return or a form feed ends no line, as it does for ``str.splitlines``."""
    return text.removesuffix("\n").split("\n") if text else []


class UsageProblem(Exception):
    """An option or an operand that the command does not take; the text says which."""


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
    """That this shell knows."""
    foreground: bool = False
    """Whether it stands alone at the top of its line, and writes to the caller."""

    @property
    def name(self) -> str:
        return self.argv[0].rpartition("/")[2]

    async def complain(self, text: str, code: int = 1) -> int:
        await self.err.write(f"{self.name}: {text}\n")
        return code

    async def texts(self, paths: list[str]) -> list[tuple[str, str]]:
        """Name and text of each file, or of the input; what cannot be read is complained of."""
        result: list[tuple[str, str]] = []
        room = LONGEST_INPUT
        for path in paths or ["-"]:
            self.budget.spend(PATH)
            try:
                text = await self.source(path).whole(self.budget)
            except FileProblem as problem:
                await self.complain(f"{path}: {problem}")
                continue
            result.append((path, text))
            room -= len(text)
            if room < 0:
                raise BudgetExceeded(f"{self.name} reads more than {LONGEST_INPUT} characters")
        return result

    def source(self, path: str) -> Input:
        """Raises ``FileProblem``."""
        return self.stdin if path == "-" else Input(self.files.read(self.variables.path(path)))


Program = Callable[[Process], Awaitable[int]]
"""Comes back with its exit code; may raise ``UsageProblem`` and ``FileProblem``."""
