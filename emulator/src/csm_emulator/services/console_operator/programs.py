"""What can be run in the console pods: conman, tail, get-node."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Awaitable, Callable
from getopt import GetoptError, gnu_getopt
from itertools import pairwise

from csm_emulator.cluster.pods import RUNNING, Exec
from csm_emulator.context import Context
from csm_emulator.nodes.consoles import Position
from csm_emulator.services.console_operator.assignments import Monitoring, NoPod

LOG = "/var/log/conman/console."
LOOK_EVERY = 0.1
"""Real seconds: a boot goes on without anything that would tell so."""
_INTERRUPT = b"\x03"
CHARACTERS = 11_520
"""In a second of real time: a serial line at 115,200 baud."""
BURST = 512
BUFFER = 64 << 10
"""What is typed at once: the rest is lost on the way to the line."""
WHOLE = 1 << 20
_COUNT = re.compile("[-+]?([0-9]{1,9})")
_COUNTS, _FOLLOWING = ("-n", "--lines"), ("-f", "-F", "--follow")
_SHORT = re.compile("-([0-9]+)([fF]?)")
TERMINATED = 137


class ConsolePrograms:
    def __init__(self, context: Context, monitoring: Monitoring) -> None:
        self._context = context
        self._monitoring = monitoring

    async def in_operator(self, asked: Exec) -> int:
        """``/app/get-node x1000c0s0b0n0``, also through ``sh -c``."""
        argv = _unwrapped(asked.argv)
        if len(argv) != 2 or argv[0].rpartition("/")[2] != "get-node":
            await asked.write_error(f"{argv[0] if argv else 'sh'}: not found\n".encode())
            return 127
        try:
            told = {"podname": self._monitoring.ask_console_data(argv[1]).name}
        except NoPod as error:
            told = {"message": str(error)}
        await asked.write(json.dumps(told).encode() + b"\n")
        return 0

    async def in_node_pod(self, asked: Exec) -> int:
        argv = _unwrapped(asked.argv)
        name = argv[0].rpartition("/")[2] if argv else ""
        if name == "conman":
            return await self._conman(asked, argv[1:])
        if name in ("tail", "cat"):
            return await self._tail(asked, argv)
        await asked.write_error(f"{name or 'sh'}: not found\n".encode())
        return 127

    async def _conman(self, asked: Exec, argv: list[str]) -> int:
        """``-j`` joins whoever is there, ``-m`` looks on; ``&.`` leaves."""
        node = next((word for word in argv if not word.startswith("-")), "")
        if "-q" in argv:
            names = self._monitoring.nodes_of(asked.pod.name)
            await asked.write("".join(f"{name}\r\n" for name in names).encode())
            return 0
        if not self._here(asked, node):
            await asked.write(f"ERROR: Found no consoles matching [{node}].\r\n".encode())
            return 1
        await asked.write(f"\r\n<ConMan> Connection to console [{node}] opened.\r\n\r\n".encode())
        watching = "-m" in argv

        async def keys() -> int:
            before = ""
            while data := await asked.read():
                typed, left = _until_escape(before, data.decode("utf-8", "replace"))
                before = (before + typed)[-1:]
                if not watching:
                    await self._type(node, typed[:BUFFER])
                if left:
                    break
            return 0

        code = await self._follow(asked, node, self._context.consoles.end(node), keys, sits=not watching)
        await asked.write(f"\r\n<ConMan> Connection to console [{node}] closed.\r\n".encode())
        return code

    async def _type(self, node: str, text: str) -> None:
        """As fast as a serial line goes: whoever pastes a book keeps nobody else waiting."""
        for start in range(0, len(text), BURST):
            if start:
                await asyncio.sleep(BURST / CHARACTERS)
            self._context.terminals.type(node, text[start : start + BURST])
            self._context.change_signal.notify()

    async def _tail(self, asked: Exec, argv: list[str]) -> int:
        try:
            lines, follows, paths = _cat(argv) if argv[0].endswith("cat") else _asked(argv)
        except (GetoptError, ValueError) as error:
            await asked.write_error(f"{argv[0]}: {error}\n".encode())
            return 1
        path = paths[0] if paths else ""
        node = path.removeprefix(LOG)
        if not path.startswith(LOG) or not self._monitoring.knows(node):
            await asked.write_error(
                f"{argv[0]}: cannot open '{path}' for reading: No such file or directory\n".encode()
            )
            return 1
        text, position = self._context.consoles.tail(node, lines)
        await asked.write(text.encode())
        if not follows:
            return 0

        async def keys() -> int:
            while data := await asked.read():
                if _INTERRUPT in data:
                    return 130
            return 0

        return await self._follow(asked, node, position, keys)

    async def _follow(
        self, asked: Exec, node: str, position: Position, keys: Callable[[], Awaitable[int]], *, sits: bool = False
    ) -> int:
        """What comes out of the console, until its reader leaves or the pod goes; ``sits`` who may type at it."""
        if sits:
            self._context.terminals.join(node)
        reader = asyncio.ensure_future(keys())
        waiter = asyncio.ensure_future(self._show(asked, node, position))
        try:
            await asyncio.wait((reader, waiter), return_when=asyncio.FIRST_COMPLETED)
            return reader.result() if reader.done() else waiter.result()
        finally:
            if sits:
                self._context.terminals.leave(node)
            reader.cancel()
            waiter.cancel()
            await asyncio.wait((reader, waiter))

    async def _show(self, asked: Exec, node: str, position: Position) -> int:
        beginning = _beginnings(self._context, asked)
        while True:
            texts, position = self._context.consoles.read(node, position)
            if texts:
                await asked.write("".join(texts).encode())
            if not await self._context.change_signal.wait(LOOK_EVERY) or _beginnings(self._context, asked) != beginning:
                return TERMINATED

    def _here(self, asked: Exec, node: str) -> bool:
        pod = self._monitoring.pod_of(node)
        return pod is not None and pod.name == asked.pod.name


def _beginnings(context: Context, asked: Exec) -> float | None:
    """When the container that it runs in began; None when it does not run."""
    pod = context.cluster.pod(asked.pod.namespace, asked.pod.name)
    container = pod.container(asked.container) if pod and pod.uid == asked.pod.uid else None
    return container.began if container and container.state == RUNNING else None


def _unwrapped(argv: list[str]) -> list[str]:
    """``sh -c "…"`` as what it runs."""
    if len(argv) == 3 and argv[0].rpartition("/")[2] in ("sh", "bash") and argv[1] == "-c":
        try:
            return shlex.split(argv[2])
        except ValueError:
            return []
    return argv


def _until_escape(before: str, text: str) -> tuple[str, bool]:
    """What was typed before ``&.``, and whether that was there."""
    if before == "&" and text.startswith("."):
        return "", True
    typed, mark, _ = text.partition("&.")
    return typed, bool(mark)


def _cat(argv: list[str]) -> tuple[int, bool, list[str]]:
    return WHOLE, False, [word for word in argv[1:] if not word.startswith("-")]


def _asked(argv: list[str]) -> tuple[int, bool, list[str]]:
    """How many of the last lines, whether to follow, and the paths; raises ``GetoptError`` or ``ValueError``."""
    words = [_unshortened(word, before) for before, word in pairwise(argv)]
    options, paths = gnu_getopt(words, "fFn:qv", ["lines=", "follow", "retry"])
    number = next((value for name, value in reversed(options) if name in _COUNTS), "10")
    found = _COUNT.fullmatch(number)
    if found is None:
        raise ValueError("invalid number of lines")
    return int(found[1]), any(name in _FOLLOWING for name, _ in options), paths


def _unshortened(word: str, before: str) -> str:
    """``-2`` is ``-n 2``, and ``-2f`` follows as well; a log is followed in one way only."""
    if word in ("--follow=name", "--follow=descriptor"):
        return "--follow"
    found = None if before in _COUNTS else _SHORT.fullmatch(word)
    return f"-{found[2]}n{found[1]}" if found else word
