"""A shell over a few files, and what a line does in it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from csm_emulator.shell.budget import Budget
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.files import Files
from csm_emulator.shell.interpreter import Exit, Shell, Streams
from csm_emulator.shell.standard_commands import STANDARD
from csm_emulator.shell.streams import CallerOutput, Input

HOSTS = "127.0.0.1 localhost\n10.252.1.4 ncn-m001\n10.252.1.5 ncn-w001\n"


@dataclass(frozen=True)
class Result:
    out: str
    err: str
    code: int
    seconds: float


def run(script: str, typed: str = "", file_contents: dict[str, str] | None = None) -> Result:
    out: list[str] = []
    err: list[str] = []

    async def send(text: str) -> None:
        out.append(text)

    async def complain(text: str) -> None:
        err.append(text)

    async def go() -> int:
        budget = Budget()
        folders = ("/tmp", "/var/log")  # noqa: S108
        files = Files({"/etc/hosts": HOSTS, "/etc/motd": ""}, folders, {} if file_contents is None else file_contents)
        shell = Shell(Variables({"HOME": "/root", "TWO": "a  b"}, ["first", "second"]), files, STANDARD)
        streams = Streams(Input(iter([typed])), CallerOutput(send, budget), CallerOutput(complain, budget))
        try:
            return await shell.run_text(script, streams, budget)
        except Exit as left:
            return left.code

    began = time.process_time()
    code = asyncio.run(go())
    return Result("".join(out), "".join(err), code, time.process_time() - began)
