"""An interactive shell: it reads lines from a terminal, with echo and prompt, or from a pipe."""

from __future__ import annotations

import asyncio
from collections import deque

from csm_emulator.cluster.pods import Exec
from csm_emulator.shell.budget import Budget
from csm_emulator.shell.interpreter import Exit, ScriptAborted, Shell, Streams
from csm_emulator.shell.streams import CallerOutput, Input
from csm_emulator.shell.syntax import Incomplete, Step, SyntaxProblem, parse

LONGEST_LINE = 4096
_INTERRUPT, _END, _ERASE = "\x03", "\x04", "\x7f\b"


class TerminalInput:
    """The input, shared by the shell and the commands that it runs."""

    def __init__(self, execution: Exec) -> None:
        self._execution = execution
        self._keys: deque[str] = deque()

    async def key(self) -> str:
        """One character; empty at the end."""
        if not self._keys:
            self._keys.extend((await self._execution.read()).decode("utf-8", "surrogateescape"))
        return self._keys.popleft() if self._keys else ""

    async def read_chunk(self) -> str:
        """The next input of a command; on a terminal it is echoed, and ^D or ^C end it."""
        if not self._keys and not await self._fill():
            return ""
        text = "".join(self._keys)
        self._keys.clear()
        if not self._execution.tty:
            return text
        ends = [text.index(sign) for sign in (_INTERRUPT, _END) if sign in text]
        if ends:
            self._keys.extend(text[min(ends) + (min(ends) == 0) :])
            text = text[: min(ends)]
        text = text.replace("\r", "\n")
        await self._execution.write(terminal_bytes(text, self._execution))
        return text

    async def _fill(self) -> bool:
        self._keys.extend((await self._execution.read()).decode("utf-8", "surrogateescape"))
        return bool(self._keys)


def terminal_bytes(text: str, execution: Exec) -> bytes:
    return (text.replace("\n", "\r\n") if execution.tty else text).encode("utf-8", "surrogateescape")


def streams_of(execution: Exec, terminal_input: TerminalInput, budget: Budget) -> Streams:
    async def out(text: str) -> None:
        await execution.write(terminal_bytes(text, execution))

    async def err(text: str) -> None:
        await execution.write_error(terminal_bytes(text, execution))

    async def read_chunk() -> str:
        with budget.waiting():
            return await terminal_input.read_chunk()

    return Streams(Input(read_more=read_chunk), CallerOutput(out, budget), CallerOutput(err, budget))


async def serve(shell: Shell, execution: Exec, terminal_input: TerminalInput) -> int:
    """Run until the end of the input, or ``exit``; return the exit code."""
    return await _Interactive(shell, execution, terminal_input).run()


class _Interactive:
    def __init__(self, shell: Shell, execution: Exec, terminal_input: TerminalInput) -> None:
        self._shell = shell
        self._execution = execution
        self._input = terminal_input
        self._line = ""
        self._incomplete = ""
        """The lines so far of a command that is not complete."""

    async def run(self) -> int:
        await self._prompt()
        try:
            while key := await self._input.key():
                if self._execution.tty and key == _END and not self._line:
                    break
                await self._handle_key(key)
            if self._line or self._incomplete:
                await self._run_line(last=True)
        except Exit as error:
            return error.code
        return self._shell.variables.code

    async def _prompt(self) -> None:
        if self._execution.tty:
            await self._execution.write(b"> " if self._incomplete else f"{self._shell.variables.folder} # ".encode())

    async def _handle_key(self, key: str) -> None:
        tty = self._execution.tty
        if key in "\r\n":
            await self._run_line()
        elif tty and key == _INTERRUPT:
            self._line = self._incomplete = ""
            await self._execution.write(b"^C\r\n")
            await self._prompt()
        elif tty and key in _ERASE:
            if self._line:
                self._line = self._line[:-1]
                await self._execution.write(b"\b \b")
        elif len(self._line) < LONGEST_LINE:
            self._line += key
            if tty:
                await self._execution.write(key.encode("utf-8", "surrogateescape"))

    async def _run_line(self, *, last: bool = False) -> None:
        if self._execution.tty:
            await self._execution.write(b"\r\n")
        script, self._line, self._incomplete = self._incomplete + self._line, "", ""
        budget = Budget()
        streams = streams_of(self._execution, self._input, budget)
        try:
            await self._shell.run(self._parse(script, last=last), streams, budget)
        except SyntaxProblem as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            self._shell.variables.code = 2
        except ScriptAborted as problem:
            if not self._execution.tty:
                raise
            self._shell.variables.code = problem.code
        # Let other clients' tasks run between two lines.
        await asyncio.sleep(0)
        await self._prompt()

    def _parse(self, script: str, *, last: bool) -> tuple[Step, ...]:
        """An empty tuple when the command is not complete yet; raises ``SyntaxProblem``."""
        try:
            return parse(script)
        except Incomplete:
            if last:
                raise
            self._incomplete = f"{script}\n"
            return ()
