"""A shell that takes lines: from a terminal, which it echoes and prompts on, or from a pipe."""

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


class Typing:
    """What comes in, which the shell and the commands that it runs share."""

    def __init__(self, asked: Exec) -> None:
        self._asked = asked
        self._keys: deque[str] = deque()

    async def key(self) -> str:
        """One character; empty at the end."""
        if not self._keys:
            self._keys.extend((await self._asked.read()).decode("utf-8", "surrogateescape"))
        return self._keys.popleft() if self._keys else ""

    async def piece(self) -> str:
        """What a command reads: on a terminal it is echoed, and ^D or ^C end it."""
        if not self._keys and not await self._filled():
            return ""
        text = "".join(self._keys)
        self._keys.clear()
        if not self._asked.tty:
            return text
        ends = [text.index(sign) for sign in (_INTERRUPT, _END) if sign in text]
        if ends:
            self._keys.extend(text[min(ends) + (min(ends) == 0) :])
            text = text[: min(ends)]
        text = text.replace("\r", "\n")
        await self._asked.write(on_terminal(text, self._asked))
        return text

    async def _filled(self) -> bool:
        self._keys.extend((await self._asked.read()).decode("utf-8", "surrogateescape"))
        return bool(self._keys)


def on_terminal(text: str, asked: Exec) -> bytes:
    return (text.replace("\n", "\r\n") if asked.tty else text).encode("utf-8", "surrogateescape")


def streams_of(asked: Exec, typing: Typing, budget: Budget) -> Streams:
    async def out(text: str) -> None:
        await asked.write(on_terminal(text, asked))

    async def err(text: str) -> None:
        await asked.write_error(on_terminal(text, asked))

    async def typed() -> str:
        with budget.waiting():
            return await typing.piece()

    return Streams(Input(more=typed), CallerOutput(out, budget), CallerOutput(err, budget))


async def serve(shell: Shell, asked: Exec, typing: Typing) -> int:
    """Until the end of the input, or ``exit``."""
    return await _Interactive(shell, asked, typing).run()


class _Interactive:
    def __init__(self, shell: Shell, asked: Exec, typing: Typing) -> None:
        self._shell = shell
        self._asked = asked
        self._typing = typing
        self._line = ""
        self._before = ""
        """Lines of a command that is not complete yet."""

    async def run(self) -> int:
        await self._prompt()
        try:
            while key := await self._typing.key():
                if self._asked.tty and key == _END and not self._line:
                    break
                await self._typed(key)
            if self._line or self._before:
                await self._enter(last=True)
        except Exit as left:
            return left.code
        return self._shell.variables.code

    async def _prompt(self) -> None:
        if self._asked.tty:
            await self._asked.write(b"> " if self._before else f"{self._shell.variables.folder} # ".encode())

    async def _typed(self, key: str) -> None:
        tty = self._asked.tty
        if key in "\r\n":
            await self._enter()
        elif tty and key == _INTERRUPT:
            self._line = self._before = ""
            await self._asked.write(b"^C\r\n")
            await self._prompt()
        elif tty and key in _ERASE:
            if self._line:
                self._line = self._line[:-1]
                await self._asked.write(b"\b \b")
        elif len(self._line) < LONGEST_LINE:
            self._line += key
            if tty:
                await self._asked.write(key.encode("utf-8", "surrogateescape"))

    async def _enter(self, *, last: bool = False) -> None:
        if self._asked.tty:
            await self._asked.write(b"\r\n")
        script, self._line, self._before = self._before + self._line, "", ""
        budget = Budget()
        streams = streams_of(self._asked, self._typing, budget)
        try:
            await self._shell.run(self._parsed(script, last=last), streams, budget)
        except SyntaxProblem as problem:
            await streams.err.write(f"{self._shell.name}: {problem}\n")
            self._shell.variables.code = 2
        except ScriptAborted as problem:
            if not self._asked.tty:
                raise
            self._shell.variables.code = problem.code
        # Other clients have their turn between two lines.
        await asyncio.sleep(0)
        await self._prompt()

    def _parsed(self, script: str, *, last: bool) -> tuple[Step, ...]:
        """Nothing, when more lines are to come; raises ``SyntaxProblem``."""
        try:
            return parse(script)
        except Incomplete:
            if last:
                raise
            self._before = f"{script}\n"
            return ()
