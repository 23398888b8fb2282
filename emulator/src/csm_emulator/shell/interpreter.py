"""Runs a script sequentially: in a pipe too, each command ends before the next one starts.

Commands take no emulated time: ``sleep`` returns at once. ``budget`` limits the work of a line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, replace
from getopt import GetoptError

from csm_emulator.shell.budget import (
    KILLED,
    LONGEST_VALUE,
    LONGEST_VARIABLES,
    MAX_DEPTH,
    MOST_VARIABLES,
    TICKS_PER_COMMAND,
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
    """``exit``, or an error that ends the shell: the shell or the subshell ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ScriptAborted(Exit):
    """An error ends the script; an interactive shell continues with the next line."""


class LoopExit(Exception):
    """``break``, or ``continue`` if ``is_continue``."""

    def __init__(self, *, is_continue: bool) -> None:
        super().__init__()
        self.is_continue = is_continue


@dataclass(frozen=True, slots=True)
class Streams:
    stdin: Input
    out: Output
    err: Output


@dataclass(slots=True)
class Shell:
    """A shell whose variables and files persist from line to line; each line has its own budget."""

    variables: Variables
    files: Files
    commands: Mapping[str, Program]
    name: str = "sh"

    @property
    def is_bash(self) -> bool:
        return self.name.removeprefix("-") == "bash"

    async def run(self, steps: tuple[Step, ...], streams: Streams, budget: Budget, *, tested: bool = False) -> int:
        """Run the steps and return the exit code.

        ``tested``: a condition uses the code, so ``set -e`` does not apply. Raises ``Exit`` when the shell ends.
        """
        try:
            self.variables.code = await _Execution(self, budget).script(steps, streams, tested=tested)
        except BudgetExceeded as problem:
            await streams.err.write(f"{self.name}: killed: {problem}\n")
            self.variables.code = KILLED
        except LoopExit:
            self.variables.code = 0
        return self.variables.code

    async def run_text(self, script: str, streams: Streams, budget: Budget) -> int:
        """Parse and run a complete script: an incomplete one is a syntax error."""
        try:
            return await self.run(parse(script), streams, budget)
        except SyntaxProblem as problem:
            await streams.err.write(f"{self.name}: {problem}\n")
            self.variables.code = MISUSED
            return MISUSED


class _Execution:
    """Executes one script; ``depth`` counts nested subshells, substitutions and loops."""

    def __init__(self, shell: Shell, budget: Budget, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise BudgetExceeded(f"more than {MAX_DEPTH} nested scripts")
        self._shell = shell
        self._variables = shell.variables
        self._budget = budget
        self._depth = depth
        self._substituted = 0
        """The exit code of the last substitution in the current command."""

    def _one_deeper(self) -> _Execution:
        return _Execution(self._shell, self._budget, self._depth + 1)

    def _subshell(self, options_off: Collection[str] = ()) -> _Execution:
        """An execution with a copy of the variables, without these options."""
        variables = self._variables.copy()
        variables.options.difference_update(options_off)
        return _Execution(replace(self._shell, variables=variables), self._budget, self._depth + 1)

    def _new_shell(self, name: str, invocation: Invocation) -> _Execution:
        variables = self._variables.copy()
        variables.name, variables.arguments, variables.code = invocation.name, invocation.arguments, 0
        variables.options = invocation.options
        return _Execution(replace(self._shell, variables=variables, name=name), self._budget, self._depth + 1)

    async def script(self, steps: tuple[Step, ...], streams: Streams, *, tested: bool = False) -> int:
        """Run the steps; ``tested``: a condition uses the exit code, so ``set -e`` does not apply."""
        code = self._variables.code
        for number, step in enumerate(steps):
            if (step.operator == "&&" and code) or (step.operator == "||" and not code):
                continue
            following = steps[number + 1].operator if number + 1 < len(steps) else ";"
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
        return self._apply_errexit(code, tested=tested)

    async def _stage(self, command: Command, streams: Streams, *, tested: bool) -> int:
        return await _subshell_code(self._subshell().command(command, streams, tested=tested))

    def _apply_errexit(self, code: int, *, tested: bool) -> int:
        """The code; raises ``Exit`` if ``set -e`` applies to it."""
        if code and not tested and ERREXIT in self._variables.options:
            raise Exit(code)
        return code

    async def command(self, command: Command, streams: Streams, *, tested: bool) -> int:
        self._budget.spend(TICKS_PER_COMMAND)
        trace = streams.err
        try:
            streams = await self._redirect(command.redirections, streams)
            if isinstance(command, Simple):
                return self._apply_errexit(await self._simple(command, streams, trace), tested=tested)
            code = await self._block(command, streams, tested=tested)
            return self._apply_errexit(code, tested=tested) if command.kind == "(" else code
        except UnsetVariable as problem:
            code, text = (NOT_FOUND, "unbound variable") if self._shell.is_bash else (MISUSED, "parameter not set")
            await streams.err.write(f"{self._shell.name}: {problem}: {text}\n")
            raise ScriptAborted(code) from None
        except (BadSubstitution, SyntaxProblem) as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return self._apply_errexit(MISUSED if isinstance(problem, SyntaxProblem) else 1, tested=tested)
        except _RedirectionFailed as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            return self._apply_errexit(1, tested=tested)

    async def _redirect(self, redirections: tuple[Redirection, ...], streams: Streams) -> Streams:
        for redirection in redirections:
            target = await self._expansion(streams.err).text(redirection.target)
            if redirection.kind == ">&":
                if target not in ("1", "2"):
                    raise SyntaxProblem(f"`>&{target}' is not supported by this shell: it has the streams 1 and 2")
                stream = streams.out if target == "1" else streams.err
            elif redirection.kind == "<":
                streams = replace(streams, stdin=self._open_input(target))
                continue
            else:
                stream = self._open_output(target, append=redirection.kind == ">>")
            if redirection.number in (1, 3):
                streams = replace(streams, out=stream)
            if redirection.number in (2, 3):
                streams = replace(streams, err=stream)
        return streams

    def _open_input(self, target: str) -> Input:
        try:
            return Input(self._shell.files.read(self._variables.absolute_path(target)))
        except FileProblem as problem:
            raise _RedirectionFailed(f"{target}: {problem}") from None

    def _open_output(self, target: str, *, append: bool) -> Output:
        try:
            return FileOutput(self._shell.files, self._variables.absolute_path(target), self._budget, append=append)
        except FileProblem as problem:
            raise _RedirectionFailed(f"{target}: {problem}") from None

    def _expansion(self, err: Output) -> Expansion:
        async def substitute(script: str) -> str:
            return await self._substitute(script, err)

        return Expansion(self._variables, self._shell.files, self._budget, substitute)

    async def _substitute(self, script: str, err: Output) -> str:
        pipe = Pipe(self._budget)
        # Bash does not apply `set -e` in a substitution, unless its option inherit_errexit is set.
        execution = self._subshell({ERREXIT} if self._shell.is_bash else ())
        code = await _subshell_code(execution.script(parse(script), Streams(Input(), pipe, err)))
        self._variables.code = self._substituted = code
        text = pipe.text().rstrip("\n")
        if len(text) > LONGEST_VALUE:
            raise BudgetExceeded(f"a substitution writes more than {LONGEST_VALUE} characters")
        return text

    def _refuse_braces(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words; raises ``BadSubstitution`` for a brace expansion, which only bash has."""
        for word in words if self._shell.is_bash else ():
            braces = _BRACES.match(word)
            if braces and ("," in braces[1] or ".." in braces[1]):
                raise BadSubstitution(f"{word[:40]}: braces are not supported by this shell")
        return words

    async def _simple(self, command: Simple, streams: Streams, trace: Output) -> int:
        self._substituted = 0
        expansion = self._expansion(streams.err)
        argv = await expansion.words(self._refuse_braces(command.words))
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
            await streams.err.write(f"{self._shell.name}: exec: redirections alone are not supported by this shell\n")
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
            return await self._exec(argv[1:], streams, foreground=foreground)
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
        program = self._find_program(process.name)
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

    def _find_program(self, name: str) -> Program | None:
        return self._nested_shell if name in SHELLS else self._shell.commands.get(name)

    async def _exec(self, argv: list[str], streams: Streams, *, foreground: bool) -> int:
        """``exec``: the command replaces the shell, which ends with the command's exit code."""
        if not argv:
            return 0
        name, err = self._shell.name, streams.err
        if argv[0].startswith("-"):
            await err.write(f"{name}: exec: {argv[0]}: invalid option\n")
            raise ScriptAborted(MISUSED)
        if self._find_program(argv[0].rpartition("/")[2]) is None:
            await err.write(f"{name}: exec: {argv[0]}: not found\n")
            raise ScriptAborted(NOT_FOUND)
        raise Exit(await self._program(argv, streams, foreground=foreground))

    async def _nested_shell(self, process: Process) -> int:
        """Run ``sh`` or ``bash`` as a command of this shell; raises ``UsageProblem``."""
        invocation = read_arguments(process.argv)
        script = invocation.script
        if invocation.file is not None:
            try:
                script = "".join(self._shell.files.read(self._variables.absolute_path(invocation.file)))
            except FileProblem as problem:
                return await process.complain(f"{invocation.file}: {problem}", NOT_FOUND)
        if script is None:
            script = await process.stdin.read_all(self._budget)
        execution = self._new_shell(process.name, invocation)
        streams = Streams(process.stdin, process.out, process.err)
        try:
            return await _subshell_code(execution.script(parse(script), streams))
        except SyntaxProblem as problem:
            return await process.complain(str(problem), MISUSED)

    async def _block(self, block: Block, streams: Streams, *, tested: bool) -> int:
        if block.kind == "(":
            return await _subshell_code(self._subshell().script(block.parts[0], streams, tested=tested))
        execution = self._one_deeper()
        if block.kind == "{":
            return await execution.script(block.parts[0], streams, tested=tested)
        if block.kind == "if":
            return await execution.if_command(block.parts, streams, tested=tested)
        if block.kind == "for":
            return await execution.for_loop(block, streams, tested=tested)
        return await execution.while_loop(block, streams, tested=tested)

    async def if_command(self, parts: tuple[tuple[Step, ...], ...], streams: Streams, *, tested: bool) -> int:
        for condition, body in zip(parts[::2], parts[1::2], strict=False):
            if not await self.script(condition, streams, tested=True):
                return await self.script(body, streams, tested=tested)
        return await self.script(parts[-1], streams, tested=tested) if len(parts) % 2 else 0

    async def for_loop(self, block: Block, streams: Streams, *, tested: bool) -> int:
        words = (
            self._variables.arguments
            if block.words is None
            else await self._expansion(streams.err).words(self._refuse_braces(block.words))
        )
        code = 0
        for word in list(words):
            self._assign({block.name: word})
            try:
                code = await self.script(block.parts[0], streams, tested=tested)
            except LoopExit as loop_exit:
                if not loop_exit.is_continue:
                    break
        return code

    async def while_loop(self, block: Block, streams: Streams, *, tested: bool) -> int:
        code = 0
        while bool(await self.script(block.parts[0], streams, tested=True)) == (block.kind == "until"):
            try:
                code = await self.script(block.parts[1], streams, tested=tested)
            except LoopExit as loop_exit:
                if not loop_exit.is_continue:
                    break
        return code


class _RedirectionFailed(Exception):
    """The file of a redirection cannot be opened."""


async def _subshell_code(execution: Awaitable[int]) -> int:
    """The exit code of a subshell that ends normally, by ``exit``, by ``break`` or by a broken pipe."""
    try:
        return await execution
    except Exit as shell_exit:
        return shell_exit.code
    except LoopExit:
        return 0
    except PipeBroken:
        return BROKEN_PIPE
