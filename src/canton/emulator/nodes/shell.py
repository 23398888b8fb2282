"""A shell on a node: the commands of a line, one after the other, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from canton.emulator.machine.machine import Machine
from canton.emulator.nodes.description import Description
from canton.emulator.nodes.filters import read_filter
from canton.emulator.nodes.lines import Step
from canton.emulator.nodes.pings import Ping


@dataclass(frozen=True, slots=True)
class Outcome:
    text: str = ""
    code: int = 0
    errors: str = ""
    """What no pipe takes."""
    ping: Ping | None = None
    """Goes on for a while."""
    logs_out: bool = False
    power: str = ""
    """A reset of the node, in Redfish's words."""
    rest: Sequence[Step] = ()
    """Of the line: what is to be done after the ping."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a command knows."""

    machine: Machine
    node: Description
    user: str
    now: float
    booted: float
    """When the kernel started."""
    last_code: int


Command = Callable[[Terminal, Sequence[str]], Outcome]


def refuse(text: str, code: int) -> Outcome:
    return Outcome(code=code, errors=f"{text}\n")


def run(terminal: Terminal, steps: Sequence[Step], commands: dict[str, Command]) -> Outcome:
    """Until the end, or until something that takes time; the text has the errors in it."""
    text, code = "", terminal.last_code
    for number, (joint, pipeline) in enumerate(steps):
        if (joint == "&&" and code) or (joint == "||" and not code):
            continue
        outcome = _piped(replace(terminal, last_code=code), pipeline, commands)
        text, code = text + outcome.text + outcome.errors, outcome.code
        if outcome.ping or outcome.logs_out or outcome.power:
            return replace(outcome, text=text, errors="", rest=steps[number + 1 :])
    return Outcome(text, code)


def _piped(terminal: Terminal, pipeline: Sequence[Sequence[str]], commands: dict[str, Command]) -> Outcome:
    outcome = _one(terminal, pipeline[0], commands)
    for words in pipeline[1:]:
        text, code = read_filter(words)(outcome.text)
        outcome = replace(outcome, text=text, code=code)
    return outcome


def _one(terminal: Terminal, argv: Sequence[str], commands: dict[str, Command]) -> Outcome:
    command = commands.get(argv[0].rpartition("/")[2])
    if command is None:
        return refuse(f"-bash: {argv[0]}: command not found", 127)
    return command(terminal, [str(terminal.last_code) if word == "$?" else word for word in argv[1:]])
