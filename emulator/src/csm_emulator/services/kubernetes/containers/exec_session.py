"""One exec session: runs the program and copies its streams, independent of the protocol."""

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
from csm_emulator.records import Json

log = logging.getLogger("csm_emulator")
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
_UNREAD = 64
"""Chunks of input that may wait for the program to read them."""


class Peer(Protocol):
    """The other side of an exec."""

    async def receive(self) -> tuple[int, bytes, bool] | None:
        """(channel, data, whether it is the channel's last); None when the other side has disconnected."""

    async def send(self, channel: int, data: bytes) -> None: ...

    async def finish(self, status: Json) -> None:
        """Send the exit status and end the session."""


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """The program to run, and the streams that the client uses."""

    pod: Pod
    container: Container
    argv: Sequence[str]
    program: Program
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    def channels(self) -> set[int]:
        """The channels that the client opens."""
        usage = {STDIN: self.stdin, STDOUT: self.stdout, STDERR: self.stderr and not self.tty, RESIZE: self.tty}
        return {ERROR, *(channel for channel, in_use in usage.items() if in_use)}


async def run_exec(peer: Peer, exec_request: ExecRequest, context: Context) -> None:
    """Run until the program ends, the client disconnects, or the machine stops."""
    typed_input: asyncio.Queue[bytes] = asyncio.Queue(_UNREAD)
    run = _exec_of(peer, exec_request, typed_input)
    program = asyncio.ensure_future(_run_program(exec_request, run))
    listening = asyncio.ensure_future(_listen(peer, run, typed_input, wants_input=exec_request.stdin))
    machine = asyncio.ensure_future(_wait_for_stop(context))
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


def _exec_of(peer: Peer, exec_request: ExecRequest, typed_input: asyncio.Queue[bytes]) -> Exec:
    at_end = not exec_request.stdin

    async def read() -> bytes:
        nonlocal at_end
        if at_end:
            return b""
        data = await typed_input.get()
        at_end = not data
        return data

    async def write(data: bytes) -> None:
        if exec_request.stdout and data:
            await peer.send(STDOUT, data)

    async def write_error(data: bytes) -> None:
        if exec_request.tty:
            await write(data)
        elif exec_request.stderr and data:
            await peer.send(STDERR, data)

    return Exec(
        exec_request.pod,
        exec_request.container.name,
        list(exec_request.argv),
        exec_request.tty,
        read,
        write,
        write_error,
    )


async def _run_program(exec_request: ExecRequest, run: Exec) -> Json:
    try:
        return exit_status(await exec_request.program(run))
    except Exception:
        log.exception("internal error of the emulator: %s in %s failed", run.argv, exec_request.pod.name)
        return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": "error executing command"}


async def _listen(peer: Peer, run: Exec, typed_input: asyncio.Queue[bytes], *, wants_input: bool) -> None:
    while (message := await peer.receive()) is not None:
        channel, data, last = message
        if channel == STDIN and wants_input:
            if data:
                await typed_input.put(data)
            if last:
                await typed_input.put(b"")
        elif channel == RESIZE:
            run.size = _terminal_size(data, run.size)


def _terminal_size(data: bytes, current_size: tuple[int, int]) -> tuple[int, int]:
    try:
        size = json.loads(data)
        width, height = size["Width"], size["Height"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return current_size
    fits = all(isinstance(length, int) and 0 < length < 65536 for length in (width, height))
    return (width, height) if fits else current_size


async def _wait_for_stop(context: Context) -> None:
    while await context.change_signal.wait(1.0):
        pass


def exit_status(code: int) -> Json:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
