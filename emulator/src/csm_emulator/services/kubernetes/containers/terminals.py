"""Programs that somebody runs in a container: what comes and goes, over whatever protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from csm_emulator.cluster.pods import Container, Exec, Pod, Program
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import Json

log = logging.getLogger("csm_emulator")
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
_UNREAD = 64
"""Pieces that were typed and that the program has not read."""


class Peer(Protocol):
    """The other side of an exec."""

    async def receive(self) -> tuple[int, bytes, bool] | None:
        """Channel, data, and whether that was the last of the channel; None when the other side is gone."""

    async def send(self, channel: int, data: bytes) -> None: ...

    async def finish(self, status: Json) -> None:
        """How it ended, and that this is the end."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be run, and with what."""

    pod: Pod
    container: Container
    argv: Sequence[str]
    program: Program
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    def channels(self) -> set[int]:
        """That the client opens."""
        asked = {STDIN: self.stdin, STDOUT: self.stdout, STDERR: self.stderr and not self.tty, RESIZE: self.tty}
        return {ERROR, *(channel for channel, wanted in asked.items() if wanted)}


async def converse(peer: Peer, wish: Wish, context: Context) -> None:
    """Until the program ends, or the other side goes, or the machine does."""
    typed: asyncio.Queue[bytes] = asyncio.Queue(_UNREAD)
    run = _exec(peer, wish, typed)
    program = asyncio.ensure_future(_ended(wish, run))
    listening = asyncio.ensure_future(_listen(peer, run, typed, wants_input=wish.stdin))
    machine = asyncio.ensure_future(_machine_ends(context))
    try:
        await asyncio.wait((program, listening, machine), return_when=asyncio.FIRST_COMPLETED)
        if program.done():
            await peer.finish(program.result())
    finally:
        for task in (program, listening, machine):
            task.cancel()
        for task in (program, listening, machine):
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _exec(peer: Peer, wish: Wish, typed: asyncio.Queue[bytes]) -> Exec:
    over = not wish.stdin

    async def read() -> bytes:
        nonlocal over
        if over:
            return b""
        data = await typed.get()
        over = not data
        return data

    async def write(data: bytes) -> None:
        if wish.stdout and data:
            await peer.send(STDOUT, data)

    async def write_error(data: bytes) -> None:
        if wish.tty:
            await write(data)
        elif wish.stderr and data:
            await peer.send(STDERR, data)

    return Exec(wish.pod, wish.container.name, list(wish.argv), wish.tty, read, write, write_error)


async def _ended(wish: Wish, run: Exec) -> Json:
    try:
        return status_of(await wish.program(run))
    except Exception:
        log.exception("a mistake of the emulator: %s in %s did not come to its end", run.argv, wish.pod.name)
        return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": "error executing command"}


async def _listen(peer: Peer, run: Exec, typed: asyncio.Queue[bytes], *, wants_input: bool) -> None:
    while (came := await peer.receive()) is not None:
        channel, data, last = came
        if channel == STDIN and wants_input:
            if data:
                await typed.put(data)
            if last:
                await typed.put(b"")
        elif channel == RESIZE:
            run.size = _size(data, run.size)


def _size(data: bytes, before: tuple[int, int]) -> tuple[int, int]:
    try:
        told = json.loads(data)
        width, height = told["Width"], told["Height"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return before
    fits = all(isinstance(one, int) and 0 < one < 65536 for one in (width, height))
    return (width, height) if fits else before


async def _machine_ends(context: Context) -> None:
    while await context.change_signal.wait(1.0):
        pass


def status_of(code: int) -> Json:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
