"""A worker in a process of its own, which kills itself at a given point, or runs with a mutation.

A *point* is the instant before a journal write, before its commit and after it, and before and after a device
call. Points are counted as they are reached; the process kills itself with SIGKILL at the one it was given.

A *mutation* takes one protection out of the engine, from outside: the suite must turn red with each of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from sqlalchemy.engine import Connection

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.json_types import Json, JsonObject
from canton.operations.engine import device_calls as calls
from canton.operations.engine.judge import Observation
from canton.operations.engine.step_kind import Call, DeviceLimits, Kinds, StepKind, register
from canton.operations.engine.worker import Settings, Worker
from canton.operations.kinds.set_power import SetPower
from canton.store.database import SECOND, Clock, Database, open_database, system_clock
from canton.store.doorbell import Doorbell, listen
from canton.store.operations import leases
from crash import device

# The device of this suite acts at most 0.1 s late.
LIMITS = DeviceLimits(timeout=5.0, settle=0.3, poll=0.03, tries=12, backoff=0.02, backoff_limit=0.1)


@dataclass(frozen=True)
class WorkerOptions:
    """The options of a worker process."""

    url: str
    port: int
    log: str
    lease: float = 0.4
    sweep: float = 0.5
    kill_at: int = 0
    standby: bool = False
    """Stop (SIGSTOP) as soon as there is nothing to do."""
    freeze_in_call: int = 0
    """Stop before or after this device call."""
    freeze_in_write: int = 0
    """Stop before the commit of this write."""
    mutation: str = ""
    clock: str = ""
    """A file with the seconds by which this process's clock is off."""
    crawl: float = 0.0
    """Seconds that every device call takes longer."""


def killed_mark(options: WorkerOptions) -> Path:
    """The file that says that the point was reached. An exit code would not be reliable: several threads may set it."""
    return Path(f"{options.log}.killed")


class Points:
    """Counts the points that are reached, and kills or freezes the process at one of them."""

    def __init__(self, options: WorkerOptions) -> None:
        self.options = options
        self.reached = 0
        self.calls = 0
        self.writes = 0
        self.lock = threading.Lock()
        self.writing = threading.Lock()

    def reach(self) -> None:
        with self.lock:
            self.reached += 1
            if self.reached == self.options.kill_at:
                killed_mark(self.options).touch()
                os.kill(os.getpid(), signal.SIGKILL)

    def at_device(self) -> None:
        """Before or after a device call."""
        self.reach()
        self.calls += 1
        if self.calls == self.options.freeze_in_call:
            # Not while a thread of this process writes: frozen inside an SQLite write, it would stop the others.
            with self.writing:
                os.kill(os.getpid(), signal.SIGSTOP)

    def at_commit(self) -> None:
        self.writes += 1
        if self.writes == self.options.freeze_in_write:
            os.kill(os.getpid(), signal.SIGSTOP)
        self.reach()


class Wire:
    """The device as step kinds see it."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.options = points.options

    async def read(self, targets: Sequence[str]) -> dict[str, Json]:
        return await self._call({"verb": "read", "targets": list(targets)})

    async def set(self, items: Mapping[str, Json], fence: int, guard: Guard) -> dict[str, StepFailure]:
        answer = await self._call({"verb": "set", "items": items, "fence": fence}, guard)
        return {target: _failure(target, str(word)) for target, word in answer.items()}

    async def _call(self, request: dict[str, Json], guard: Guard = lambda: None) -> dict[str, Json]:
        self.points.at_device()
        if self.options.crawl:
            await asyncio.sleep(self.options.crawl)
        answer = await device.call(self.options.port, request, guard)
        self.points.at_device()
        return answer


def _failure(target: str, word: str) -> StepFailure:
    if word == "deny":
        return PermanentFailure(f"{target}: the device denies it")
    return TemporaryFailure(f"{target}: the device is busy")


class WirePower:
    """The product's power contract on this suite's device."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        states = await self.wire.read([f"{node}:power" for node in nodes])
        return {node: PowerState(str(states[f"{node}:power"])) for node in nodes}

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        # The contract carries no fence: a power service has no use for one.
        refusals = await self.wire.set({f"{node}:power": str(to) for node in nodes}, 0, guard)
        return {target.removesuffix(":power"): failure for target, failure in refusals.items()}


class SetFact:
    """One fact of a node (its disk, its port) on this suite's device."""

    def __init__(self, wire: Wire, fact: str, limits: DeviceLimits) -> None:
        self.name = f"set_{fact}/1"
        self.wire = wire
        self.fact = fact
        self.limits = limits

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        facts = await self.wire.read([f"{call.step.target}:{self.fact}" for call in calls])
        return {call.step.n: {self.fact: facts[f"{call.step.target}:{self.fact}"]} for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        settings = {f"{call.step.target}:{self.fact}": call.step.goal[self.fact] for call in calls}
        refusals = await self.wire.set(settings, calls[0].fence, calls[0].guard)
        targets = {call.step.n: f"{call.step.target}:{self.fact}" for call in calls}
        return {n: refusals[target] for n, target in targets.items() if target in refusals}


def kinds(wire: Wire) -> Kinds:
    return register(
        SetPower({"pcs": WirePower(wire)}, replace(LIMITS, batch=10)),
        SetFact(wire, "disk", LIMITS),
        SetFact(wire, "port", replace(LIMITS, batch=2)),
    )


class CountedDatabase(Database):
    """A database whose writes are points."""

    points: Points

    @contextmanager
    def write(self, lock_wait: float | None = None) -> Iterator[Connection]:
        self.points.reach()
        with self.points.writing, super().write(lock_wait) as connection:
            yield connection
            self.points.at_commit()
        self.points.reach()


def run(options: WorkerOptions) -> None:
    logging.basicConfig(filename=options.log, level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    MUTATIONS[options.mutation]()
    points = Points(options)
    clock = _shifted_clock(Path(options.clock)) if options.clock else system_clock
    opened = open_database(options.url, clock, idle_in_transaction=options.lease)
    database = CountedDatabase(opened.engine)
    database.points = points
    if options.standby:
        mock.patch("canton.operations.engine.worker.listen", lambda database: FreezingBell(listen(database))).start()
    settings = Settings(lease=options.lease, sweep=options.sweep, grace=2.0)
    worker = Worker(database, kinds(Wire(points)), settings)
    asyncio.run(_work(worker))
    database.close()


class FreezingBell:
    """Stops the process the first time that a worker waits for something to do."""

    def __init__(self, bell: Doorbell) -> None:
        self.bell = bell
        self.frozen = False

    def wait(self, seconds: float) -> bool:
        if not self.frozen:
            self.frozen = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return self.bell.wait(seconds)

    def close(self) -> None:
        self.bell.close()


async def _work(worker: Worker) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await worker.run(stop)


def _shifted_clock(file: Path) -> Clock:
    return lambda: system_clock() + round(float(file.read_text()) * SECOND)


def _no_fence_check() -> None:
    """Mutation: a worker that was replaced goes on writing."""

    def hold(connection: Connection, operation_id: str, fence: int) -> leases.LeaseState:
        return leases.LeaseState(None, system_clock())

    mock.patch.object(leases, "hold", hold).start()


def _act_without_looking() -> None:
    """Mutation: a step acts when the journal does not say that it is done, whatever the device shows."""
    observe = calls.observe
    looked: set[object] = set()

    async def blind(kind: StepKind, device_calls: Sequence[Call]) -> Mapping[int, Observation]:
        task = asyncio.current_task()
        if task in looked:
            return await observe(kind, device_calls)
        looked.add(task)
        return {call.step.n: {} for call in device_calls}

    mock.patch.object(calls, "observe", blind).start()


MUTATIONS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "no-fence-check": _no_fence_check,
    "act-without-looking": _act_without_looking,
}
