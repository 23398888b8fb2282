"""A shell on a node: one line of input, and what comes of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from canton.emulator.machine.machine import Machine
from canton.emulator.nodes.description import Description


@dataclass(frozen=True, slots=True)
class Outcome:
    text: str = ""
    code: int = 0
    ping: Ping | None = None
    """Goes on for a while."""
    logs_out: bool = False
    power: str = ""
    """A reset of the node, in Redfish's words."""


@dataclass(frozen=True, slots=True)
class Ping:
    name: str
    address: str
    count: int
    interval: float = 1.0
    sent: int = 0
    received: int = 0
    shortest: float = 0.0
    longest: float = 0.0
    total: float = 0.0
    """Of the times of the answers, in seconds."""
    squares: float = 0.0
    """The sum of theirs."""

    def answered(self, seconds: float) -> Ping:
        return replace(
            self,
            received=self.received + 1,
            shortest=min(self.shortest, seconds) if self.received else seconds,
            longest=max(self.longest, seconds),
            total=self.total + seconds,
            squares=self.squares + seconds * seconds,
        )


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a command knows."""

    machine: Machine
    node: Description
    user: str
    now: float
    last_code: int


Command = Callable[[Terminal, Sequence[str]], Outcome]


def run(terminal: Terminal, line: str, commands: dict[str, Command]) -> Outcome:
    """Several commands with ``;`` or ``&&`` between go one after the other; a pipe is more than this shell knows."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return Outcome("-bash: unexpected EOF while looking for matching quote\n", 2)
    text, code = "", terminal.last_code
    for joint, argv in _split(words):
        if (joint == "&&" and code) or (joint == "||" and not code):
            continue
        if joint in ("|", "&"):
            return Outcome(f"{text}-bash: `{joint}' is more than this console's shell can do\n", 2)
        outcome = _one(replace(terminal, last_code=code), argv, commands)
        if outcome.ping or outcome.logs_out or outcome.power:
            return Outcome(text + outcome.text, outcome.code, outcome.ping, outcome.logs_out, outcome.power)
        text, code = text + outcome.text, outcome.code
    return Outcome(text, code)


def _split(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    parts: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word and not word.strip(";&|"):
            parts.append((word, []))
        else:
            parts[-1][1].append(word)
    return parts


def _one(terminal: Terminal, argv: Sequence[str], commands: dict[str, Command]) -> Outcome:
    if not argv:
        return Outcome(code=terminal.last_code)
    name = argv[0].rpartition("/")[2]
    command = commands.get(name)
    if command is None:
        return Outcome(f"-bash: {argv[0]}: command not found\n", 127)
    return command(terminal, [str(terminal.last_code) if word == "$?" else word for word in argv[1:]])
