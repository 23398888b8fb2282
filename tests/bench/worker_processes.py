"""A worker in a process of its own, with devices in its memory, that reports on request the CPU time it has used.

The devices cost next to nothing, so what is measured is the engine. They come with the step kinds:

    instant/1    shows and sets a value at once
    distant/1    the same, but every call takes 5 ms
    stuck/1      an act never returns
    set_power/1  the product's own kind, on a power service that takes 100 nodes in a call
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from resource import RUSAGE_SELF, getrusage

import sqlalchemy as sa

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import StepFailure
from canton.domain.json_types import Json, JsonObject
from canton.operations.engine.step_kind import Call, DeviceLimits, Kinds, register
from canton.operations.engine.worker import Settings, Worker
from canton.operations.kinds import set_power
from canton.store.database import Database, open_database
from canton.store.schema import worker as worker_table

DISTANCE = 0.005
PATIENCE = 60.0
processes = multiprocessing.get_context("spawn")


class SetValue:
    limits = DeviceLimits()

    def __init__(self, name: str, distance: float | None = None) -> None:
        self.name = name
        self.distance = distance
        self.values: dict[str, Json] = {}

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        if self.distance is not None:
            await asyncio.sleep(self.distance)
        return {call.step.n: {"value": self.values.get(call.step.target)} for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        if self.distance is not None:
            await asyncio.sleep(self.distance)
        for call in calls:
            call.guard()
            self.values[call.step.target] = call.step.goal["value"]
        return {}


class StuckStep(SetValue):
    # Every take-over is one more try.
    limits = DeviceLimits(timeout=3600.0, tries=1000)

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:  # noqa: ARG002
        await asyncio.sleep(self.limits.timeout)
        return {}


class PowerService:
    def __init__(self) -> None:
        self.power: dict[str, PowerState] = {}

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        return {node: self.power.get(node, PowerState.OFF) for node in nodes}

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        guard()
        self.power.update(dict.fromkeys(nodes, to))
        return {}


def step_kinds() -> Kinds:
    return register(
        SetValue("instant/1"),
        SetValue("distant/1", DISTANCE),
        StuckStep("stuck/1"),
        set_power.SetPower({"pcs": PowerService()}, replace(set_power.LIMITS, batch=100)),
    )


def run(url: str, settings: Settings, pipe: Pipe) -> None:
    """The main function of the process: run the worker and answer on the pipe until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the benchmark, which then stops us
    database = open_database(url)
    asyncio.run(_work(Worker(database, step_kinds(), settings), pipe))
    database.close()


async def _work(worker: Worker, pipe: Pipe) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def answer() -> None:
        try:
            pipe.recv()
            usage = getrusage(RUSAGE_SELF)
            pipe.send(usage.ru_utime + usage.ru_stime)
        except EOFError:
            loop.remove_reader(pipe.fileno())
            stop.set()

    loop.add_reader(pipe.fileno(), answer)
    await worker.run(stop)


class WorkerProcess:
    """A worker process as the benchmark sees it."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._pipe, theirs = processes.Pipe()
        self._process: BaseProcess = processes.Process(target=run, args=(url, settings, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def cpu(self) -> float:
        """Seconds of user and system time of all its threads so far."""
        self._pipe.send("cpu")
        return float(self._pipe.recv())

    def await_arrival(self, database: Database) -> None:
        """Wait until the worker has registered in the database; from then on it waits for work."""
        pid = sa.select(worker_table.c.id).where(worker_table.c.pid == self._process.pid)
        until = time.monotonic() + PATIENCE
        while self._process.is_alive() and time.monotonic() < until:
            with database.read() as connection:
                if connection.execute(pid).first():
                    return
            time.sleep(0.02)
        raise TimeoutError("a worker process did not start; see its error above")

    def kill(self) -> None:
        """End the process with SIGKILL, as a power failure would."""
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()

    def dismiss(self) -> None:
        self._pipe.close()
        self._process.join(PATIENCE)
        self.kill()


@contextmanager
def start_workers(
    database: Database, url: str, count: int = 1, settings: Settings | None = None
) -> Iterator[list[WorkerProcess]]:
    """``count`` worker processes that have registered and wait for work; they are stopped afterwards."""
    with ExitStack() as stack:
        workers = []
        for _ in range(count):
            workers.append(WorkerProcess(url, settings or Settings()))
            stack.callback(workers[-1].dismiss)
        for worker in workers:
            worker.await_arrival(database)
        yield workers
