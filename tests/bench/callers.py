"""Many callers of one server, in a process of their own, so that they do not slow the measuring process."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from canton.domain.operation import DRIVEN

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
Request: TypeAlias = tuple[str, str, Any]
"""Method, path and body."""


@dataclass(frozen=True, slots=True)
class Task:
    """``groups`` are sets of nodes; an operation on each is kept under way."""

    url: str
    token: str
    seconds: float
    connections: int
    groups: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """``times`` are milliseconds by kind of request."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    operations: int = 0
    seconds: float = 0.0


class Wire:
    """HTTP/1.1 on a kept connection, with next to no cost to the caller."""

    def __init__(self, task: Task) -> None:
        where = urlsplit(task.url)
        self._where = where.hostname, where.port
        self._head = f"Host: {where.netloc}\r\nAuthorization: Bearer {task.token}\r\nCanton-Reason: bench\r\n"

    async def __aenter__(self) -> Wire:
        self._reader, self._writer = await asyncio.open_connection(*self._where, limit=2**20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        raw = b"" if body is None else json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n" if raw else ""
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{kind}\r\n".encode() + raw)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        return int(head[9:12]), await self._reader.readexactly(int(length[1]) if length else 0)


# Out of twenty: mostly looking, as people and pipelines do.
MIX = {"tenants": 5, "nodes": 5, "operations": 4, "whoami": 4, "dry run": 1, "change": 1}
_READS = {
    "tenants": "/v1/tenants",
    "nodes": "/v1/nodes?limit=100",
    "operations": "/v1/operations?limit=20",
    "whoami": "/v1/whoami",
}


def request(kind: str, task: Task, rng: random.Random) -> Request:
    if kind in _READS:
        return "GET", _READS[kind], None
    if kind == "change":
        return "PATCH", "/v1/tenants/psi", {"description": f"round {rng.random()}"}
    return "POST", "/v1/nodes/power?dry_run=true", {"nodes": rng.choice(task.groups), "to": "on"}


async def _call(task: Task, outcome: Outcome) -> None:
    began = time.monotonic()
    end = began + task.seconds
    callers = [_one(task, outcome, random.Random(n), end) for n in range(task.connections)]
    busy = [_keep_busy(task, outcome, group, end) for group in task.groups]
    await asyncio.gather(*callers, *busy)
    outcome.seconds = time.monotonic() - began


async def _one(task: Task, outcome: Outcome, rng: random.Random, end: float) -> None:
    kinds, weights = list(MIX), list(MIX.values())
    async with Wire(task) as wire:
        while time.monotonic() < end:
            [kind] = rng.choices(kinds, weights)
            await _timed(wire, outcome, kind, request(kind, task, rng))


async def _timed(wire: Wire, outcome: Outcome, kind: str, to_send: Request) -> None:
    start = time.perf_counter()
    status, text = await wire.ask(*to_send)
    outcome.times[kind].append((time.perf_counter() - start) * 1000)
    if status != 200:
        outcome.errors.append(f"{to_send[0]} {to_send[1]}: {status} {text[:300].decode(errors='replace')}")


async def _keep_busy(task: Task, outcome: Outcome, group: str, end: float) -> None:
    """Operations that a worker really carries out, one after the other."""
    async with Wire(task) as wire:
        to = "on"
        while time.monotonic() < end:
            status, text = await wire.ask("POST", "/v1/nodes/power", {"nodes": group, "to": to})
            if status != 202:
                outcome.errors.append(f"power {to} {group}: {status} {text[:300].decode(errors='replace')}")
                return
            state = await _ended(wire, json.loads(text)["id"])
            if state != "done":
                outcome.errors.append(f"power {to} {group} came to {state}")
                return
            outcome.operations += 1
            to = "off" if to == "on" else "on"


async def _ended(wire: Wire, identity: str) -> str:
    while True:
        state = str(json.loads((await wire.ask("GET", f"/v1/operations/{identity}"))[1])["state"])
        if state not in DRIVEN:
            return state
        await asyncio.sleep(0.2)


def _run(task: Task, pipe: Pipe) -> None:
    outcome = Outcome()
    asyncio.run(_call(task, outcome))
    outcome.times = dict(outcome.times)
    pipe.send(outcome)


def elsewhere(task: Task) -> Outcome:
    """Run the callers in another process and return what they measured."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(task, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(task.seconds + 120):
            raise TimeoutError(f"the callers did not end within {task.seconds + 120:g} s")
        outcome: Outcome = ours.recv()
        return outcome
    finally:
        process.terminate()
        process.join()
