"""Runs a script, command after command: the stages of a pipe too run one after the other, each to its end.

A command takes no time: ``sleep`` comes back at once. What a line may cost is bounded (``budget``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, replace
from getopt import GetoptError

from csm_emulator.shell.budget import (
    COMMAND,
    DEEPEST,
    KILLED,
    LONGEST_VALUE,
    LONGEST_VARIABLES,
    MOST_VARIABLES,
    Budget,
    BudgetExceeded,
)
from csm_emulator.shell.expansion import (
    ERREXIT,
    PIPEFAIL,
    XTRACE,
    BadSubstitution,
    Expansion,
    UnsetVariable,
    Variables,
)
from csm_emulator.shell.files import FileProblem, Files
from csm_emulator.shell.options import Invocation, read_arguments
from csm_emulator.shell.process import MISUSED, Process, Program, UsageProblem
from csm_emulator.shell.streams import BROKEN_PIPE, FileOutput, Input, Output, Pipe, PipeBroken
from csm_emulator.shell.syntax import Block, Command, Redirection, Simple, Step, SyntaxProblem, parse

NOT_FOUND = 127
_BRACES = re.compile(r"""[^\s'"\\$`{}]*\{([^\s'"\\{}]*)\}""")
SHELLS = ("sh", "bash", "ash", "dash")


class Exit(Exception):
    """``exit``: the shell, or the subshell, ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ScriptAborted(Exit):
    """An error that ends a script; a shell that a person types into goes on with the next line."""


class LoopExit(Exception):
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

    @property
    def is_bash(self) -> bool:
        return self.name.removeprefix("-") == "bash"

    async def run(self, steps: tuple[Step, ...], streams: Streams, budget: Budget, *, tested: bool = False) -> int:
        """The exit code, which is ``tested`` by what comes after; raises ``Exit`` when the shell is left."""
        try:
            self.variables.code = await _Line(self, budget).script(steps, streams, tested=tested)
        except BudgetExceeded as problem:
            await streams.err.write(f"{self.name}: killed: {problem}\n")
            self.variables.code = KILLED
        except LoopExit:
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
            raise BudgetExceeded(f"more than {DEEPEST} scripts in one another")
        self._shell = shell
        self._variables = shell.variables
        self._budget = budget
        self._depth = depth
        self._substituted = 0
        """Exit code of the last substitution in the command that runs."""

    def _inside(self) -> _Line:
        return _Line(self._shell, self._budget, self._depth + 1)

    def _subshell(self, options_off: Collection[str] = ()) -> _Line:
        """With variables of its own."""
        variables = self._variables.copy()
        variables.options.difference_update(options_off)
        return _Line(replace(self._shell, variables=variables), self._budget, self._depth + 1)

    def _other_shell(self, name: str, invocation: Invocation) -> _Line:
        variables = self._variables.copy()
        variables.name, variables.arguments, variables.code = invocation.name, invocation.arguments, 0
        variables.options = invocation.options
        return _Line(replace(self._shell, variables=variables, name=name), self._budget, self._depth + 1)

    async def script(self, steps: tuple[Step, ...], streams: Streams, *, tested: bool = False) -> int:
        """``tested``: a condition depends on the exit code, so that ``set -e`` does not apply."""
        code = self._variables.code
        for number, step in enumerate(steps):
            if (step.joint == "&&" and code) or (step.joint == "||" and not code):
                continue
            following = steps[number + 1].joint if number + 1 < len(steps) else ";"
            code = await self._pipeline(step, streams, tested=tested or step.negated or following in ("&&", "||"))
            code = int(not code) if step.negated else code
            self._variables.code = code
        return code

    async def _pipeline(self, step: Step, streams: Streams, *, tested: bool) -> int:
        *preceding, last = step.commands
        if not preceding:
            return await self.command(last, streams, tested=tested)
        stdin, codes = streams.stdin, []
        for command in preceding:
            pipe = Pipe(self._budget)
            codes.append(await self._stage(command, replace(streams, stdin=stdin, out=pipe), tested=tested))
            stdin = Input(iter([pipe.text()]))
        codes.append(await self._stage(last, replace(streams, stdin=stdin), tested=tested))
        code = next(filter(None, reversed(codes)), 0) if PIPEFAIL in self._variables.options else codes[-1]
        return self._checked(code, tested=tested)

    async def _stage(self, command: Command, streams: Streams, *, tested: bool) -> int:
        return await _contained(self._subshell().command(command, streams, tested=tested))

    def _checked(self, code: int, *, tested: bool) -> int:
        """The code; raises ``Exit`` where ``set -e`` ends the shell for it."""
        if code and not tested and ERREXIT in self._variables.options:
            raise Exit(code)
        return code

    async def command(self, command: Command, streams: Streams, *, tested: bool) -> int:
        self._budget.spend(COMMAND)
        trace = streams.err
        try:
            streams = await self._redirected(command.redirections, streams)
            if isinstance(command, Simple):
                return self._checked(await self._simple(command, streams, trace), tested=tested)
            code = await self._block(command, streams, tested=tested)
            return self._checked(code, tested=tested) if command.kind == "(" else code
        except UnsetVariable as problem:
            code, text = (NOT_FOUND, "unbound variable") if self._shell.is_bash else (MISUSED, "parameter not set")
            await streams.err.write(f"{self._shell.name}: {problem}: {text}\n")
            raise ScriptAborted(code) from None
        except (BadSubstitution, SyntaxProblem) as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return self._checked(MISUSED if isinstance(problem, SyntaxProblem) else 1, tested=tested)
        except _NoSuchTarget as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return self._checked(1, tested=tested)

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
        # Bash does not apply `set -e` in a substitution unless it is told to.
        line = self._subshell({ERREXIT} if self._shell.is_bash else ())
        code = await _contained(line.script(parse(script), Streams(Input(), pipe, err)))
        self._variables.code = self._substituted = code
        text = pipe.text().rstrip("\n")
        if len(text) > LONGEST_VALUE:
            raise BudgetExceeded(f"a substitution gives more than {LONGEST_VALUE} characters")
        return text

    def _without_braces(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words; raises ``BadSubstitution`` for one that bash, and no other shell, makes several of."""
        for word in words if self._shell.is_bash else ():
            braces = _BRACES.match(word)
            if braces and ("," in braces[1] or ".." in braces[1]):
                raise BadSubstitution(f"{word[:40]}: braces are more than this shell can do")
        return words

    async def _simple(self, command: Simple, streams: Streams, trace: Output) -> int:
        self._substituted = 0
        expansion = self._expansion(streams.err)
        argv = await expansion.words(self._without_braces(command.words))
        assigned: dict[str, str] = {}
        previous: dict[str, str | None] = {}
        for assignment in command.assignments:
            name, _, raw = assignment.partition("=")
            previous.setdefault(name, self._variables.values.get(name))
            assigned[name] = await expansion.text(raw)
            self._assign({name: assigned[name]})
        if XTRACE in self._variables.options and (assigned or argv):
            words = (*(f"{name}={shlex.quote(value)}" for name, value in assigned.items()), *map(shlex.quote, argv))
            await trace.write(f"+ {' '.join(words)}\n")
        if not argv:
            return self._substituted
        if argv == ["exec"] and command.redirections:
            await streams.err.write(f"{self._shell.name}: exec: redirections alone are more than this shell can do\n")
            raise ScriptAborted(MISUSED)
        try:
            foreground = not self._depth and not command.redirections
            return await self._program(argv, streams, foreground=foreground)
        finally:
            self._restore(previous)

    def _restore(self, previous: Mapping[str, str | None]) -> None:
        for name, value in previous.items():
            if value is None:
                self._variables.values.pop(name, None)
            else:
                self._variables.values[name] = value

    def _assign(self, assigned: Mapping[str, str]) -> None:
        self._variables.values |= assigned
        if len(self._variables.values) > MOST_VARIABLES:
            raise BudgetExceeded(f"more than {MOST_VARIABLES} variables")
        if sum(map(len, self._variables.values.values())) > LONGEST_VARIABLES:
            raise BudgetExceeded(f"variables are longer than {LONGEST_VARIABLES} characters")

    async def _program(self, argv: list[str], streams: Streams, *, foreground: bool) -> int:
        if argv[0] == "exec":
            return await self._replaced(argv[1:], streams, foreground=foreground)
        if argv[0] == "command" and argv[1:] and not argv[1].startswith("-"):
            return await self._program(argv[1:], streams, foreground=foreground)
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
        program = self._found(process.name)
        if program is None:
            await streams.err.write(f"{shell.name}: {argv[0]}: command not found\n")
            return NOT_FOUND
        try:
            return await program(process)
        except (UsageProblem, GetoptError, FileProblem) as problem:
            code = await process.complain(str(problem), 1 if isinstance(problem, FileProblem) else MISUSED)
        if process.name == "set" and not shell.is_bash:
            raise ScriptAborted(code)
        return code

    def _found(self, name: str) -> Program | None:
        return self._nested if name in SHELLS else self._shell.commands.get(name)

    async def _replaced(self, argv: list[str], streams: Streams, *, foreground: bool) -> int:
        """``exec``: the command runs in place of the shell, which ends with its code."""
        if not argv:
            return 0
        name, err = self._shell.name, streams.err
        if argv[0].startswith("-"):
            await err.write(f"{name}: exec: {argv[0]}: invalid option\n")
            raise ScriptAborted(MISUSED)
        if self._found(argv[0].rpartition("/")[2]) is None:
            await err.write(f"{name}: exec: {argv[0]}: not found\n")
            raise ScriptAborted(NOT_FOUND)
        raise Exit(await self._program(argv, streams, foreground=foreground))

    async def _nested(self, process: Process) -> int:
        """A shell in this one; raises ``UsageProblem``."""
        invocation = read_arguments(process.argv)
        script = invocation.script
        if invocation.file is not None:
            try:
                script = "".join(self._shell.files.read(self._variables.path(invocation.file)))
            except FileProblem as problem:
                return await process.complain(f"{invocation.file}: {problem}", NOT_FOUND)
        if script is None:
            script = await process.stdin.whole(self._budget)
        line = self._other_shell(process.name, invocation)
        streams = Streams(process.stdin, process.out, process.err)
        try:
            return await _contained(line.script(parse(script), streams))
        except SyntaxProblem as problem:
            return await process.complain(str(problem), MISUSED)

    async def _block(self, block: Block, streams: Streams, *, tested: bool) -> int:
        if block.kind == "(":
            return await _contained(self._subshell().script(block.parts[0], streams, tested=tested))
        line = self._inside()
        if block.kind == "{":
            return await line.script(block.parts[0], streams, tested=tested)
        if block.kind == "if":
            return await line.branch(block.parts, streams, tested=tested)
        if block.kind == "for":
            return await line.for_all(block, streams, tested=tested)
        return await line.repeat(block, streams, tested=tested)

    async def branch(self, parts: tuple[tuple[Step, ...], ...], streams: Streams, *, tested: bool) -> int:
        for condition, body in zip(parts[::2], parts[1::2], strict=False):
            if not await self.script(condition, streams, tested=True):
                return await self.script(body, streams, tested=tested)
        return await self.script(parts[-1], streams, tested=tested) if len(parts) % 2 else 0

    async def for_all(self, block: Block, streams: Streams, *, tested: bool) -> int:
        words = (
            self._variables.arguments
            if block.words is None
            else await self._expansion(streams.err).words(self._without_braces(block.words))
        )
        code = 0
        for word in list(words):
            self._assign({block.name: word})
            try:
                code = await self.script(block.parts[0], streams, tested=tested)
            except LoopExit as left:
                if not left.goes_on:
                    break
        return code

    async def repeat(self, block: Block, streams: Streams, *, tested: bool) -> int:
        code = 0
        while bool(await self.script(block.parts[0], streams, tested=True)) == (block.kind == "until"):
            try:
                code = await self.script(block.parts[1], streams, tested=tested)
            except LoopExit as left:
                if not left.goes_on:
                    break
        return code


class _NoSuchTarget(Exception):
    """A redirection to or from what cannot be opened."""


async def _contained(running: Awaitable[int]) -> int:
    """The code of a subshell, whichever way it ends."""
    try:
        return await running
    except Exit as left:
        return left.code
    except LoopExit:
        return 0
    except PipeBroken:
        return BROKEN_PIPE
