"""A device in a process of its own: it keeps its state and its log when its callers die.

It can lose an answer (act, then hang up), act late, refuse, deny for good, and take half of a batch. Where a
request carries a fence, it refuses one that is older than the newest it saw. Its log is what the crash suite
believes; the database is what it checks.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypedDict

from canton.contracts.guard import Guard
from canton.domain.errors import TemporaryFailure
from canton.domain.json_types import Json


class Entry(TypedDict):
    """One line of the device's log: a request to set a target, and what became of it."""

    at: float
    target: str
    value: Json
    was: Json
    fence: int
    effect: str


class Device:
    def __init__(self, log: Path, values: dict[str, Json], faults: dict[str, list[str]]) -> None:
        self.values = values
        self.faults = faults
        self.highest_fence = 0
        self.late: list[tuple[float, str, Json, int]] = []
        self.log = log.open("a", buffering=1)

    async def serve(self, ready: Connection) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        answer = self._handle(json.loads(line)) if line else None
        if answer is not None:
            writer.write(json.dumps(answer).encode() + b"\n")
        writer.close()

    def _handle(self, request: dict[str, Any]) -> dict[str, Json] | None:
        self._catch_up()
        if request["verb"] == "read":
            return {target: self.values.get(target) for target in request["targets"]}
        if request["verb"] == "forgive":
            self.faults.clear()
            return {}
        return self._set(request["items"], request["fence"], request["sent"])

    def _set(self, items: dict[str, Json], fence: int, sent_at: float) -> dict[str, Json] | None:
        if 0 < fence < self.highest_fence:
            for target, value in items.items():
                self._write(target, value, fence, "stale")
            return dict.fromkeys(items, "stale")
        self.highest_fence = max(fence, self.highest_fence)
        refusals: dict[str, Json] = {}
        reply_sent = True
        for position, (target, value) in enumerate(items.items()):
            fault = self._next_fault(target)
            if fault in ("refuse", "deny"):
                refusals[target] = fault
                self._write(target, value, fence, fault)
            elif fault == "half" and position * 2 >= len(items):
                reply_sent = False
                self._write(target, value, fence, "ignored")
            elif fault.startswith("late:"):
                # From when it was sent: a device that gets no time from a busy machine must not be later than it says.
                self.late.append((sent_at + float(fault[5:]), target, value, fence))
            else:
                reply_sent = reply_sent and fault not in ("lose", "half")
                self._apply(target, value, fence, "applied")
        return refusals if reply_sent else None

    def _catch_up(self) -> None:
        """Apply the late effects that are due, however busy the machine is."""
        due = [effect for effect in self.late if effect[0] <= time.monotonic()]
        for effect in due:
            self.late.remove(effect)
            self._apply(*effect[1:], "late")

    def _next_fault(self, target: str) -> str:
        waiting = self.faults.get(target, [])
        if not waiting:
            return ""
        # A denial stays until the request "forgive"; every other fault happens once.
        return waiting[0] if waiting[0] == "deny" else waiting.pop(0)

    def _apply(self, target: str, value: Json, fence: int, effect: str) -> None:
        self._write(target, value, fence, effect)
        self.values[target] = value

    def _write(self, target: str, value: Json, fence: int, effect: str) -> None:
        entry = Entry(
            at=time.time(), target=target, value=value, was=self.values.get(target), fence=fence, effect=effect
        )
        self.log.write(json.dumps(entry) + "\n")


def run(log: str, values: dict[str, Json], faults: dict[str, list[str]], ready: Connection) -> None:
    asyncio.run(Device(Path(log), values, faults).serve(ready))


async def call(port: int, request: dict[str, Json], guard: Guard = lambda: None) -> dict[str, Any]:
    """Send a request to the device; without an answer, a temporary failure: what the device did is unknown."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        guard()
        writer.write(json.dumps(request | {"sent": time.monotonic()}).encode() + b"\n")
        answer = await reader.readline()
        writer.close()
    except OSError as error:
        raise TemporaryFailure(f"the device does not answer: {error}") from error
    if not answer:
        raise TemporaryFailure("the device hung up")
    document: dict[str, Any] = json.loads(answer)
    return document


def read_log(log: Path) -> list[Entry]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def effective(entries: Sequence[Entry]) -> list[Entry]:
    """The requests that the device carried out."""
    return [entry for entry in entries if entry["effect"] in ("applied", "late")]
