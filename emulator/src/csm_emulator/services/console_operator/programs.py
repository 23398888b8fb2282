"""The programs in the console pods: conman, tail, cat, get-node."""

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
from csm_emulator.services.console_operator.assignments import ConsoleAssignments, NoPod

LOG = "/var/log/conman/console."
POLL_INTERVAL = 0.1
"""Real seconds between two reads of the console, since a boot writes without a change signal."""
_INTERRUPT = b"\x03"
CHARACTERS_PER_SECOND = 11_520
"""In real time, as a serial line at 115,200 baud."""
BURST = 512
BUFFER = 64 << 10
"""Characters that are accepted at once; the serial line loses the rest."""
ALL_LINES = 1 << 20
_COUNT = re.compile("[-+]?([0-9]{1,9})")
_COUNTS, _FOLLOWING = ("-n", "--lines"), ("-f", "-F", "--follow")
_SHORT = re.compile("-([0-9]+)([fF]?)")
TERMINATED = 137


class ConsolePrograms:
    def __init__(self, context: Context, assignments: ConsoleAssignments) -> None:
        self._context = context
        self._assignments = assignments

    async def in_operator(self, execution: Exec) -> int:
        """``/app/get-node x1000c0s0b0n0``, directly or with ``sh -c``."""
        argv = _unwrapped(execution.argv)
        if len(argv) != 2 or argv[0].rpartition("/")[2] != "get-node":
            await execution.write_error(f"{argv[0] if argv else 'sh'}: not found\n".encode())
            return 127
        try:
            answer = {"podname": self._assignments.ask_console_data(argv[1]).name}
        except NoPod as error:
            answer = {"message": str(error)}
        await execution.write(json.dumps(answer).encode() + b"\n")
        return 0

    async def in_node_pod(self, execution: Exec) -> int:
        argv = _unwrapped(execution.argv)
        name = argv[0].rpartition("/")[2] if argv else ""
        if name == "conman":
            return await self._conman(execution, argv[1:])
        if name in ("tail", "cat"):
            return await self._tail(execution, argv)
        await execution.write_error(f"{name or 'sh'}: not found\n".encode())
        return 127

    async def _conman(self, execution: Exec, argv: list[str]) -> int:
        """``-j`` joins the console, ``-m`` only reads it, ``-q`` lists consoles; ``&.`` ends the session."""
        node = next((word for word in argv if not word.startswith("-")), "")
        if "-q" in argv:
            names = self._assignments.nodes_of(execution.pod.name)
            await execution.write("".join(f"{name}\r\n" for name in names).encode())
            return 0
        if not self._is_assigned_here(execution, node):
            await execution.write(f"ERROR: Found no consoles matching [{node}].\r\n".encode())
            return 1
        await execution.write(f"\r\n<ConMan> Connection to console [{node}] opened.\r\n\r\n".encode())
        read_only = "-m" in argv

        async def keys() -> int:
            last_character = ""
            while data := await execution.read():
                typed, is_escape = _until_escape(last_character, data.decode("utf-8", "replace"))
                last_character = (last_character + typed)[-1:]
                if not read_only:
                    await self._type(node, typed[:BUFFER])
                if is_escape:
                    break
            return 0

        code = await self._follow(execution, node, self._context.consoles.end(node), keys, interactive=not read_only)
        await execution.write(f"\r\n<ConMan> Connection to console [{node}] closed.\r\n".encode())
        return code

    async def _type(self, node: str, text: str) -> None:
        """Types at the speed of a serial line, so that a long paste does not hold up other users."""
        for start in range(0, len(text), BURST):
            if start:
                await asyncio.sleep(BURST / CHARACTERS_PER_SECOND)
            self._context.terminals.type(node, text[start : start + BURST])
            self._context.change_signal.notify()

    async def _tail(self, execution: Exec, argv: list[str]) -> int:
        try:
            lines, follows, paths = _cat_options(argv) if argv[0].endswith("cat") else _tail_options(argv)
        except (GetoptError, ValueError) as error:
            await execution.write_error(f"{argv[0]}: {error}\n".encode())
            return 1
        path = paths[0] if paths else ""
        node = path.removeprefix(LOG)
        if not path.startswith(LOG) or not self._assignments.knows(node):
            await execution.write_error(
                f"{argv[0]}: cannot open '{path}' for reading: No such file or directory\n".encode()
            )
            return 1
        text, position = self._context.consoles.tail(node, lines)
        await execution.write(text.encode())
        if not follows:
            return 0

        async def keys() -> int:
            while data := await execution.read():
                if _INTERRUPT in data:
                    return 130
            return 0

        return await self._follow(execution, node, position, keys)

    async def _follow(
        self,
        execution: Exec,
        node: str,
        position: Position,
        keys: Callable[[], Awaitable[int]],
        *,
        interactive: bool = False,
    ) -> int:
        """Shows the console until the reader ends or the pod stops; ``interactive`` readers can type."""
        if interactive:
            self._context.terminals.join(node)
        reader = asyncio.ensure_future(keys())
        waiter = asyncio.ensure_future(self._show(execution, node, position))
        try:
            await asyncio.wait((reader, waiter), return_when=asyncio.FIRST_COMPLETED)
            return reader.result() if reader.done() else waiter.result()
        finally:
            if interactive:
                self._context.terminals.leave(node)
            reader.cancel()
            waiter.cancel()
            await asyncio.wait((reader, waiter))

    async def _show(self, execution: Exec, node: str, position: Position) -> int:
        start_time = _start_time(self._context, execution)
        while True:
            texts, position = self._context.consoles.read(node, position)
            if texts:
                await execution.write("".join(texts).encode())
            if (
                not await self._context.change_signal.wait(POLL_INTERVAL)
                or _start_time(self._context, execution) != start_time
            ):
                return TERMINATED

    def _is_assigned_here(self, execution: Exec, node: str) -> bool:
        pod = self._assignments.pod_of(node)
        return pod is not None and pod.name == execution.pod.name


def _start_time(context: Context, execution: Exec) -> float | None:
    """The start time of the program's container; None when the container does not run."""
    pod = context.cluster.pod(execution.pod.namespace, execution.pod.name)
    container = pod.container(execution.container) if pod and pod.uid == execution.pod.uid else None
    return container.began if container and container.state == RUNNING else None


def _unwrapped(argv: list[str]) -> list[str]:
    """The command in ``sh -c "…"``; other commands as they are."""
    if len(argv) == 3 and argv[0].rpartition("/")[2] in ("sh", "bash") and argv[1] == "-c":
        try:
            return shlex.split(argv[2])
        except ValueError:
            return []
    return argv


def _until_escape(last_character: str, text: str) -> tuple[str, bool]:
    """The text before ``&.``, and whether ``&.`` was typed."""
    if last_character == "&" and text.startswith("."):
        return "", True
    typed, mark, _ = text.partition("&.")
    return typed, bool(mark)


def _cat_options(argv: list[str]) -> tuple[int, bool, list[str]]:
    return ALL_LINES, False, [word for word in argv[1:] if not word.startswith("-")]


def _tail_options(argv: list[str]) -> tuple[int, bool, list[str]]:
    """The number of last lines, whether to follow, and the paths. Raises ``GetoptError`` or ``ValueError``."""
    words = [_long_option(word, previous) for previous, word in pairwise(argv)]
    options, paths = gnu_getopt(words, "fFn:qv", ["lines=", "follow", "retry"])
    number = next((value for name, value in reversed(options) if name in _COUNTS), "10")
    match = _COUNT.fullmatch(number)
    if match is None:
        raise ValueError("invalid number of lines")
    return int(match[1]), any(name in _FOLLOWING for name, _ in options), paths


def _long_option(word: str, previous: str) -> str:
    """``-2`` is ``-n 2``, ``-2f`` is ``-fn2``, and ``--follow=…`` is ``--follow``."""
    if word in ("--follow=name", "--follow=descriptor"):
        return "--follow"
    match = None if previous in _COUNTS else _SHORT.fullmatch(word)
    return f"-{match[2]}n{match[1]}" if match else word
