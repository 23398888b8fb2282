"""Runs a script, command after command: the stages of a pipe too run one after the other, each to its end.

A command takes no time: ``sleep`` comes back at once. What a line may cost is bounded (``budget``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from getopt import GetoptError

from canton.emulator.shell.budget import (
    COMMAND,
    DEEPEST,
    KILLED,
    LONGEST_VALUE,
    MOST_VARIABLES,
    Budget,
    Exhausted,
)
from canton.emulator.shell.expansion import BadSubstitution, Expansion, Variables
from canton.emulator.shell.files import FileProblem, Files
from canton.emulator.shell.process import MISUSED, Process, Program, UsageProblem
from canton.emulator.shell.streams import BROKEN_PIPE, FileOutput, Input, Output, Pipe, PipeBroken
from canton.emulator.shell.syntax import Block, Command, Redirection, Simple, Step, SyntaxProblem, parse

NOT_FOUND = 127
SHELLS = ("sh", "bash", "ash", "dash")


class Exit(Exception):
    """``exit``: the shell, or the subshell, ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LoopLeft(Exception):
    """``break`` and ``continue``."""

    def __init__(self, *, goes_on: bool) -> None:
        super().__init__()
        self.goes_on = goes_on


@dataclass(frozen=True, slots=True)
class Streams:
    stdin: Input
    out: Output
    err: Output


@dataclass(slots=True)
class Shell:
    """Its state stays from line to line; each line has a budget of its own."""

    variables: Variables
    files: Files
    commands: Mapping[str, Program]
    name: str = "sh"

    async def run(self, steps: tuple[Step, ...], streams: Streams, budget: Budget) -> int:
        """The exit code; raises ``Exit`` when the shell is left."""
        try:
            self.variables.code = await _Line(self, budget).script(steps, streams)
        except Exhausted as problem:
            await streams.err.write(f"{self.name}: killed: {problem}\n")
            self.variables.code = KILLED
        except LoopLeft:
            self.variables.code = 0
        return self.variables.code

    async def run_text(self, script: str, streams: Streams, budget: Budget) -> int:
        """The same, of a script that has no more lines to come."""
        try:
            return await self.run(parse(script), streams, budget)
        except SyntaxProblem as problem:
            await streams.err.write(f"{self.name}: {problem}\n")
            self.variables.code = MISUSED
            return MISUSED


class _Line:
    """One run of a script, at some depth."""

    def __init__(self, shell: Shell, budget: Budget, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise Exhausted(f"more than {DEEPEST} scripts in one another")
        self._shell = shell
        self._variables = shell.variables
        self._budget = budget
        self._depth = depth

    def _inside(self) -> _Line:
        return _Line(self._shell, self._budget, self._depth + 1)

    def _subshell(self, name: str | None = None, arguments: Sequence[str] = ()) -> _Line:
        """With variables of its own, and a name and arguments of its own if it is another script."""
        variables = self._variables.copy()
        if name is not None:
            variables.name, variables.arguments = name, list(arguments)
        return _Line(replace(self._shell, variables=variables), self._budget, self._depth + 1)

    async def script(self, steps: tuple[Step, ...], streams: Streams) -> int:
        code = self._variables.code
        for step in steps:
            if (step.joint == "&&" and code) or (step.joint == "||" and not code):
                continue
            code = await self._pipeline(step.commands, streams)
            code = int(not code) if step.negated else code
            self._variables.code = code
        return code

    async def _pipeline(self, commands: tuple[Command, ...], streams: Streams) -> int:
        if len(commands) == 1:
            return await self.command(commands[0], streams)
        stdin = streams.stdin
        for command in commands[:-1]:
            pipe = Pipe(self._budget)
            await self._stage(command, replace(streams, stdin=stdin, out=pipe))
            stdin = Input(iter([pipe.text()]))
        return await self._stage(commands[-1], replace(streams, stdin=stdin))

    async def _stage(self, command: Command, streams: Streams) -> int:
        return await _contained(self._subshell().command(command, streams))

    async def command(self, command: Command, streams: Streams) -> int:
        self._budget.spend(COMMAND)
        try:
            streams = await self._redirected(command.redirections, streams)
            if isinstance(command, Block):
                return await self._block(command, streams)
            return await self._simple(command, streams)
        except (BadSubstitution, SyntaxProblem) as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return MISUSED if isinstance(problem, SyntaxProblem) else 1
        except _NoSuchTarget as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return 1

    async def _redirected(self, redirections: tuple[Redirection, ...], streams: Streams) -> Streams:
        for one in redirections:
            target = await self._expansion(streams.err).text(one.target)
            if one.kind == ">&":
                if target not in ("1", "2"):
                    raise SyntaxProblem(f"`>&{target}' is more than this shell can do: it has the streams 1 and 2")
                stream = streams.out if target == "1" else streams.err
            elif one.kind == "<":
                streams = replace(streams, stdin=self._opened(target))
                continue
            else:
                stream = self._created(target, append=one.kind == ">>")
            if one.number in (1, 3):
                streams = replace(streams, out=stream)
            if one.number in (2, 3):
                streams = replace(streams, err=stream)
        return streams

    def _opened(self, target: str) -> Input:
        try:
            return Input(self._shell.files.read(self._variables.path(target)))
        except FileProblem as problem:
            raise _NoSuchTarget(f"{target}: {problem}") from None

    def _created(self, target: str, *, append: bool) -> Output:
        try:
            return FileOutput(self._shell.files, self._variables.path(target), self._budget, append=append)
        except FileProblem as problem:
            raise _NoSuchTarget(f"{target}: {problem}") from None

    def _expansion(self, err: Output) -> Expansion:
        async def substitute(script: str) -> str:
            return await self._substitute(script, err)

        return Expansion(self._variables, self._shell.files, self._budget, substitute)

    async def _substitute(self, script: str, err: Output) -> str:
        pipe = Pipe(self._budget)
        steps = parse(script)
        self._variables.code = await _contained(self._subshell().script(steps, Streams(Input(), pipe, err)))
        text = pipe.text().rstrip("\n")
        if len(text) > LONGEST_VALUE:
            raise Exhausted(f"a substitution gives more than {LONGEST_VALUE} characters")
        return text

    async def _simple(self, command: Simple, streams: Streams) -> int:
        expansion = self._expansion(streams.err)
        assigned = {}
        for assignment in command.assignments:
            name, _, raw = assignment.partition("=")
            assigned[name] = await expansion.text(raw)
        argv = await expansion.words(command.words)
        if not argv:
            self._assign(assigned)
            return self._variables.code if "$(" in "".join(command.assignments) else 0
        before = dict(self._variables.values)
        self._assign(assigned)
        try:
            foreground = not self._depth and not command.redirections
            return await self._program(argv, streams, foreground=foreground)
        finally:
            if assigned:
                self._variables.values = before

    def _assign(self, assigned: Mapping[str, str]) -> None:
        self._variables.values |= assigned
        if len(self._variables.values) > MOST_VARIABLES:
            raise Exhausted(f"more than {MOST_VARIABLES} variables")

    async def _program(self, argv: list[str], streams: Streams, *, foreground: bool) -> int:
        shell = self._shell
        process = Process(
            argv,
            self._variables,
            shell.files,
            self._budget,
            streams.stdin,
            streams.out,
            streams.err,
            shell.commands,
            foreground,
        )
        program = self._nested if process.name in SHELLS else shell.commands.get(process.name)
        if program is None:
            await streams.err.write(f"{shell.name}: {argv[0]}: command not found\n")
            return NOT_FOUND
        try:
            return await program(process)
        except (UsageProblem, GetoptError, FileProblem) as problem:
            return await process.complain(str(problem), 1 if isinstance(problem, FileProblem) else MISUSED)

    async def _nested(self, process: Process) -> int:
        """``sh -c SCRIPT [NAME ARGUMENT…]``, ``sh FILE [ARGUMENT…]``, or a script from the input."""
        script, name, arguments = read_arguments(process.argv)
        if script is None and arguments:
            name, *arguments = arguments
            script = "".join(self._shell.files.read(self._variables.path(name)))
        if script is None:
            script = await process.stdin.whole(self._budget)
        line = self._subshell(name, arguments)
        return await _contained(line.script(parse(script), Streams(process.stdin, process.out, process.err)))

    async def _block(self, block: Block, streams: Streams) -> int:
        if block.kind == "(":
            return await _contained(self._subshell().script(block.parts[0], streams))
        line = self._inside()
        if block.kind == "{":
            return await line.script(block.parts[0], streams)
        if block.kind == "if":
            return await line.branch(block.parts, streams)
        if block.kind == "for":
            return await line.for_all(block, streams)
        return await line.repeat(block, streams)

    async def branch(self, parts: tuple[tuple[Step, ...], ...], streams: Streams) -> int:
        for condition, body in zip(parts[::2], parts[1::2], strict=False):
            if not await self.script(condition, streams):
                return await self.script(body, streams)
        return await self.script(parts[-1], streams) if len(parts) % 2 else 0

    async def for_all(self, block: Block, streams: Streams) -> int:
        words = (
            self._variables.arguments if block.words is None else await self._expansion(streams.err).words(block.words)
        )
        code = 0
        for word in list(words):
            self._assign({block.name: word})
            try:
                code = await self.script(block.parts[0], streams)
            except LoopLeft as left:
                if not left.goes_on:
                    break
        return code

    async def repeat(self, block: Block, streams: Streams) -> int:
        code = 0
        while bool(await self.script(block.parts[0], streams)) == (block.kind == "until"):
            try:
                code = await self.script(block.parts[1], streams)
            except LoopLeft as left:
                if not left.goes_on:
                    break
        return code


def read_arguments(argv: Sequence[str]) -> tuple[str | None, str, list[str]]:
    """The script of ``-c``, or None; the name that it has for itself; its arguments, or a file and its arguments."""
    rest = list(argv[1:])
    has_script = False
    while rest and rest[0].startswith(("-", "+")) and rest[0] != "-":
        has_script |= rest.pop(0).endswith("c")
    if not has_script:
        return None, argv[0], rest
    if not rest:
        raise UsageProblem("-c: option requires an argument")
    script, *rest = rest
    return script, rest[0] if rest else argv[0], rest[1:]


class _NoSuchTarget(Exception):
    """A redirection to or from what cannot be opened."""


async def _contained(running: Awaitable[int]) -> int:
    """The code of a subshell, whichever way it ends."""
    try:
        return await running
    except Exit as left:
        return left.code
    except LoopLeft:
        return 0
    except PipeBroken:
        return BROKEN_PIPE
