"""The shell on a node: runs the commands of a line, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from csm_emulator.machine.machine import Machine
from csm_emulator.nodes.description import Description
from csm_emulator.nodes.ping_run import Ping
from csm_emulator.shell.budget import KILLED, Budget
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.files import Files
from csm_emulator.shell.interpreter import Exit, ScriptAborted, Shell, Streams
from csm_emulator.shell.process import MISUSED, Process, Program
from csm_emulator.shell.standard_commands import STANDARD
from csm_emulator.shell.streams import CallerOutput, Input
from csm_emulator.shell.syntax import parse

NAME = "-bash"
Step = tuple[str, str]
"""The operator before a pipeline (``;``, ``&&``, ``||``), and the pipeline's text."""


@dataclass(frozen=True, slots=True)
class Outcome:
    text: str = ""
    code: int = 0
    errors: str = ""
    """Standard error."""
    ping: Ping | None = None
    """A ping to continue at the console."""
    logs_out: bool = False
    power: str = ""
    """A reset of the node, by its Redfish name."""

    @property
    def takes_over(self) -> bool:
        """Whether the console has to continue: with a ping, a logout or a reset."""
        return bool(self.ping or self.logs_out or self.power)


@dataclass(frozen=True, slots=True)
class Terminal:
    """The context of a command: node, user and time."""

    machine: Machine
    node: Description
    user: str
    now: float
    booted: float
    """When the kernel started."""


Command = Callable[[Terminal, Sequence[str]], Outcome]


def refuse(text: str, code: int) -> Outcome:
    return Outcome(code=code, errors=f"{text}\n")


class _ConsoleTakenOver(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def read_line(line: str) -> list[Step]:
    """Raises ``SyntaxProblem``."""
    return [(step.operator, step.source) for step in parse(line)]


@dataclass(frozen=True, slots=True)
class LineResult:
    """The result of a line; its text includes standard error."""

    text: str
    outcome: Outcome
    remaining_steps: Sequence[Step] = ()
    """Steps to run after the outcome."""


def run(
    terminal: Terminal, steps: Sequence[Step], variables: Variables, files: Files, commands: Mapping[str, Command]
) -> LineResult:
    """Runs steps until the end, or until one that takes time; changes ``variables``."""
    texts: list[str] = []

    async def show(text: str) -> None:
        texts.append(text)

    budget = Budget()
    output = CallerOutput(show, budget)
    programs = {name: _program(command, terminal) for name, command in commands.items()}
    shell = Shell(variables, files, {**STANDARD, **programs}, NAME)
    for number, (operator, source) in enumerate(steps):
        if (operator == "&&" and variables.code) or (operator == "||" and not variables.code):
            continue
        tested = number + 1 < len(steps) and steps[number + 1][0] in ("&&", "||")
        try:
            _at_once(shell.run(parse(source), Streams(Input(), output, output), budget, tested=tested))
        except _ConsoleTakenOver as taken:
            texts.append(taken.outcome.text + taken.outcome.errors)
            return LineResult("".join(texts), taken.outcome, steps[number + 1 :])
        except ScriptAborted as problem:
            return LineResult("".join(texts), Outcome(code=problem.code))
        except Exit:
            return LineResult("".join(texts), Outcome(logs_out=True))
        if variables.code == KILLED:
            break
    return LineResult("".join(texts), Outcome(code=variables.code))


def _program(command: Command, terminal: Terminal) -> Program:
    async def program(process: Process) -> int:
        outcome = command(terminal, process.argv[1:])
        if outcome.takes_over and process.foreground:
            raise _ConsoleTakenOver(outcome)
        if outcome.logs_out:
            return await STANDARD["exit"](process)
        if outcome.takes_over:
            message = "must be alone on its line at this console, not in a pipe, a loop or with a redirection"
            return await process.complain(message, MISUSED)
        await process.out.write(outcome.text)
        await process.err.write(outcome.errors)
        return outcome.code

    return program


def _at_once(running: Coroutine[Any, Any, int]) -> int:
    """Runs a coroutine that never waits, since a console's commands have no input and their output no limit."""
    try:
        running.send(None)
    except StopIteration as end:
        return int(end.value)
    raise RuntimeError("a command at a console waits")
