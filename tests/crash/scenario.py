"""The operation that the crash suite interrupts, and what must be true of it afterwards.

Three nodes are powered off in one batch, of which the device takes a part; their disks are erased in parallel, one
of them late; their ports are set on two switches, one of which loses its answer; then they are powered on, which
one node denies for good. A person undoes the operation: ports and power go back, disks stay erased.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import sqlalchemy as sa

from canton.domain import invariants
from canton.domain.errors import DatabaseUnavailable, WrongState
from canton.domain.json_types import Json
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.domain.operation import DRIVEN, ENDED, OperationState, StepState
from canton.operations.engine.completion import Attribution
from canton.operations.interventions import retry, undo
from canton.operations.plan.plan import Plan, Step, Undo
from canton.operations.submit import Submission, submit
from canton.store import audit, outbox, schema
from canton.store.database import Database, open_database
from canton.store.inventory import nodes
from canton.store.operations import journal
from crash import device, killed_worker

NODES = tuple(f"x1000c0s{n}b0n0" for n in range(3))
PERSON = Attribution("operator", "because the device denied it")
CHOICES = {"undo": undo, "retry": retry}
PATIENCE = 60.0

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["crash.killed_worker", "crash.device", "sqlalchemy.dialects.sqlite", "psycopg"])


def plan() -> Plan:
    n = len(NODES)
    off = [_power(1 + i, node, "off", "on") for i, node in enumerate(NODES)]
    erase = [
        Step(1 + n + i, "set_disk/1", node, f"{node}-disk", {"disk": "erased"}, needs=(1 + i,))
        for i, node in enumerate(NODES)
    ]
    ports = [
        Step(
            1 + 2 * n + i,
            "set_port/1",
            node,
            f"switch{i // 2}",
            {"port": "psi"},
            needs=(1 + n + i,),
            undo=Undo("set_port/1", {"port": "quarantine"}),
        )
        for i, node in enumerate(NODES)
    ]
    on = [_power(1 + 3 * n + i, node, "on", "off", needs=(1 + 2 * n + i,)) for i, node in enumerate(NODES)]
    return Plan("crash", "the crash suite", (*off, *erase, *ports, *on), nodes=NODES, tenant="psi")


def _power(n: int, node: str, want: str, state_before: str, needs: tuple[int, ...] = ()) -> Step:
    undo = Undo("set_power/1", {"power": state_before})
    return Step(n, "set_power/1", node, "pcs", {"power": want}, needs=needs, undo=undo)


def initial_values() -> dict[str, Json]:
    facts = {"power": "on", "disk": "dirty", "port": "quarantine"}
    return {f"{node}:{fact}": value for node in NODES for fact, value in facts.items()}


def final_values() -> dict[str, Json]:
    return initial_values() | {f"{node}:disk": "erased" for node in NODES}


def faults() -> dict[str, list[str]]:
    """The faults of each target, one for each of its first requests; an empty text is no fault."""
    n0, n1, n2 = NODES
    return {
        f"{n0}:disk": ["refuse"],
        f"{n1}:disk": ["late:0.1"],
        f"{n1}:port": ["lose"],
        f"{n1}:power": ["", "refuse"],
        f"{n2}:power": ["half", "", "deny"],
    }


@dataclass
class Case:
    """One operation, its device, and the workers that drive it."""

    url: str
    folder: Path
    database: Database
    port: int
    operation: str
    workers: list[BaseProcess] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / "device.log"

    def options(self, **changes: object) -> killed_worker.WorkerOptions:
        return killed_worker.WorkerOptions(self.url, self.port, str(self.folder / "worker.log"), **changes)  # type: ignore[arg-type]

    def start_worker(self, **changes: object) -> BaseProcess:
        worker = processes.Process(target=killed_worker.run, args=(self.options(**changes),), daemon=True)
        worker.start()
        self.workers.append(worker)
        return worker

    def submit(self) -> None:
        self.operation = submit_plan(self.database)

    def find(self) -> journal.Operation:
        with self.database.read() as connection:
            return journal.find(connection, self.operation)

    def steps(self) -> list[journal.StepRow]:
        with self.database.read() as connection:
            return journal.steps(connection, self.operation)

    def values(self) -> dict[str, Json]:
        """What the device shows now, from its log."""
        values = initial_values()
        for entry in device.effective(device.read_log(self.log)):
            values[entry["target"]] = entry["value"]
        return values

    def run_to_the_end(
        self, *, until_dead: BaseProcess | None = None, for_seconds: float = math.inf, choose: str = "undo"
    ) -> OperationState:
        """Decide for the person until the operation or the worker ``until_dead`` has ended, or for ``for_seconds``.

        A decision whose connection is cut is repeated.
        """
        started = time.monotonic()
        deadline = started + PATIENCE
        while time.monotonic() < deadline:
            if until_dead is not None and not until_dead.is_alive():
                break
            try:
                state = self.find().state
                if state is OperationState.NEEDS_ATTENTION:
                    self._repair_device()
                    with self.database.write() as connection:
                        CHOICES[choose](connection, self.operation, PERSON)
            except (DatabaseUnavailable, WrongState):
                continue
            if state in ENDED or time.monotonic() > started + for_seconds:
                return state
            time.sleep(0.02)
        else:
            raise AssertionError(f"not ended after {PATIENCE} s: {self.find()}; {self.steps()}; {self._worker_log()}")
        return self.find().state

    def _repair_device(self) -> None:
        asyncio.run(device.call(self.port, {"verb": "forgive"}))

    def _worker_log(self) -> str:
        log = self.folder / "worker.log"
        return log.read_text()[-3000:] if log.exists() else ""


@contextmanager
def case(url: str, folder: Path, *, faulty: bool, submitted: bool) -> Iterator[Case]:
    """A fresh operation on a migrated, empty database, with a device of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    ours, theirs = processes.Pipe(duplex=False)
    arguments = (str(folder / "device.log"), initial_values(), faults() if faulty else {}, theirs)
    (folder / "device.log").touch()
    machine = processes.Process(target=device.run, args=arguments, daemon=True)
    machine.start()
    opened = open_database(url, idle_in_transaction=PATIENCE)
    crash_case = Case(url, folder, opened, 0, "")
    try:
        crash_case.port = ours.recv()
        _populate(opened)
        if submitted:
            crash_case.operation = submit_plan(opened)
        yield crash_case
    finally:
        for process in (*crash_case.workers, machine):
            end(process)
        ours.close()
        theirs.close()
        opened.close()


def end(process: BaseProcess) -> None:
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.join(5)
    process.close()


def _populate(database: Database) -> None:
    with database.write() as connection:
        nodes.add(connection, [Node(name, n, NodeState.FREE, None, 1) for n, name in enumerate(NODES)])


def submit_plan(database: Database) -> str:
    return submit(database, plan(), Submission("tester", "to see it survive", {"test": "crash"})).operation


def check(case: Case, ended: OperationState = OperationState.UNDONE) -> None:
    """Everything that must hold, however the operation was interrupted."""
    entries = device.read_log(case.log)
    assert case.find().state is ended
    assert case.values() == (final_values() if ended is OperationState.UNDONE else done_values())
    _nothing_repeated(entries)
    _no_step_lost(case, ended)
    _store_is_sound(case)


def done_values() -> dict[str, Json]:
    return final_values() | {f"{node}:port": "psi" for node in NODES}


def _nothing_repeated(entries: list[device.Entry]) -> None:
    """No request set a value that the target had already, and no disk was erased twice."""
    asked_again = [entry for entry in device.effective(entries) if entry["was"] == entry["value"]]
    assert asked_again == []
    erased = Counter(entry["target"] for entry in device.effective(entries) if entry["target"].endswith(":disk"))
    assert set(erased.values()) == {1}


def _no_step_lost(case: Case, ended: OperationState) -> None:
    rows = {row.n: row for row in case.steps()}
    forward = {row.state for n, row in rows.items() if n > 0}
    if ended is OperationState.DONE:
        assert forward == {StepState.DONE}
        return
    assert forward <= {StepState.DONE, StepState.FAILED, StepState.SKIPPED}
    acted = {step.n for step in plan().steps if step.undo and rows[step.n].acts}
    assert {n for n in rows if n < 0} == {-n for n in acted}
    assert all(row.state is StepState.DONE and row.evidence for n, row in rows.items() if n < 0)


def _store_is_sound(case: Case) -> None:
    with case.database.read() as connection:
        claims = connection.execute(sa.select(schema.claim)).all()
        open_operations = connection.scalars(
            sa.select(schema.operation.c.id).where(
                schema.operation.c.state.in_([*DRIVEN, OperationState.NEEDS_ATTENTION])
            )
        ).all()
        audit.verify(connection)
        events = outbox.read(connection, "psi", 0, 10_000)
        snapshot = invariants.SystemSnapshot(
            nodes=tuple(nodes.every(connection)),
            claims=tuple(invariants.Claim(*row) for row in claims),
            operations=frozenset(open_operations),
        )
    assert claims == []
    assert invariants.violations(snapshot) == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    done_events = Counter(event.body.get("step") for event in events if event.body.get("state") == StepState.DONE)
    assert max(done_events.values()) == 1, f"an outcome was told twice: {done_events}"
