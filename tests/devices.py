"""A simulated machine for engine tests: devices in memory, step kinds that call them, plans for them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.json_types import Json, JsonObject
from canton.domain.lifecycle import NodeState, must_have_tenant
from canton.domain.node import Node
from canton.domain.operation import DRIVEN
from canton.operations.engine.completion import Attribution
from canton.operations.engine.journal_writer import WriteTransaction
from canton.operations.engine.runner import DriveResources
from canton.operations.engine.step_kind import Call, DeviceLimits, StepKind, register
from canton.operations.engine.worker import Settings, Worker
from canton.operations.plan.plan import Plan, Step, Undo
from canton.operations.submit import Submission, submit
from canton.store import schema
from canton.store.database import Database
from canton.store.inventory import nodes
from canton.store.operations import claims, journal
from canton.store.operations.journal import Operation, StepRow

T = TypeVar("T")
QUICK = DeviceLimits(timeout=2.0, settle=0.0, poll=0.02, tries=4, backoff=0.01, backoff_limit=0.05)
TENANT = "psi"


@dataclass
class Machine:
    """The values of the devices, the acts they received, and the faults they show next."""

    values: dict[str, Json] = field(default_factory=dict)
    acts: list[tuple[str, Json]] = field(default_factory=list)
    batches: list[tuple[str, ...]] = field(default_factory=list)
    """The targets of each act, as they came."""
    calls: Counter[str] = field(default_factory=Counter)
    refuse: dict[str, list[StepFailure]] = field(default_factory=dict)
    blind: list[StepFailure] = field(default_factory=list)
    deaf: set[str] = field(default_factory=set)
    """Targets that take an act and never show it."""
    late: dict[str, float] = field(default_factory=dict)
    """Targets that show an act only after this many seconds."""
    lose_answers: int = 0
    latency: float = 0.0
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """An act on such a target waits at its gate, before anything is changed."""
    at_gate: set[str] = field(default_factory=set)
    under_way: Counter[str] = field(default_factory=Counter)
    """Calls now, by device and by operation; and below, the most there ever were."""
    most: Counter[str] = field(default_factory=Counter)
    clock: Callable[[], float] = time.monotonic
    shows_later: list[tuple[float, str, Json]] = field(default_factory=list)

    def read(self, targets: Sequence[str]) -> dict[str, Json]:
        self.calls["observe"] += 1
        self._catch_up()
        if self.blind:
            raise self.blind.pop(0)
        return {target: self.values.get(target) for target in targets}

    def write(self, requested: Mapping[str, Json]) -> dict[str, StepFailure]:
        self.calls["act"] += 1
        self._catch_up()
        self.batches.append(tuple(requested))
        refusals: dict[str, StepFailure] = {}
        for target, value in requested.items():
            if self.refuse.get(target):
                refusals[target] = self.refuse[target].pop(0)
                continue
            self.acts.append((target, value))
            if target in self.late:
                self.shows_later.append((self.clock() + self.late[target], target, value))
            elif target not in self.deaf:
                self.values[target] = value
        if self.lose_answers:
            self.lose_answers -= 1
            raise TemporaryFailure("connection lost")
        return refusals

    def _catch_up(self) -> None:
        now = self.clock()
        for when, target, value in [pending for pending in self.shows_later if pending[0] <= now]:
            self.values[target] = value
            self.shows_later.remove((when, target, value))

    @asynccontextmanager
    async def call(self, calls: Sequence[Call]) -> AsyncIterator[None]:
        """One call to the devices; it is counted while it lasts."""
        busy = (calls[0].step.device, calls[0].operation)
        for name in busy:
            self.under_way[name] += 1
            self.most[name] = max(self.most[name], self.under_way[name])
        try:
            await asyncio.sleep(self.latency)
            yield
        finally:
            self.under_way.subtract(busy)


class SetValue:
    """``set_value/1``: a target shows a value."""

    def __init__(self, machine: Machine, limits: DeviceLimits = QUICK, name: str = "set_value/1") -> None:
        self.machine = machine
        self.limits = limits
        self.name = name

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        async with self.machine.call(calls):
            values = self.machine.read([call.step.target for call in calls])
        return {call.step.n: {"value": values[call.step.target]} for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        async with self.machine.call(calls):
            for call in calls:
                if gate := self.machine.gates.get(call.step.target):
                    self.machine.at_gate.add(call.step.target)
                    await gate.wait()
            calls[0].guard()
            refusals = self.machine.write({call.step.target: call.step.goal["value"] for call in calls})
        return {call.step.n: refusals[call.step.target] for call in calls if call.step.target in refusals}


def set_value(n: int, target: str, value: Json = "on", *, needs: tuple[int, ...] = (), back: Json = None) -> Step:
    undo = Undo("set_value/1", {"value": back}) if back is not None else None
    return Step(n, "set_value/1", target, "device", {"value": value}, needs=needs, undo=undo)


def plan_of(*steps: Step, nodes: tuple[str, ...] = (), tenant: str | None = None) -> Plan:
    return Plan("test", "a test", steps, nodes=nodes, tenant=tenant)


def xname(n: int) -> str:
    return f"x1000c0s{n}b0n0"


def add_nodes(database: Database, count: int, state: NodeState = NodeState.FREE) -> list[str]:
    """Add nodes in this state and return their names; if the state needs a tenant, it is ``TENANT``."""
    names = [xname(n) for n in range(count)]
    owner = TENANT if must_have_tenant(state) else None
    with database.write() as connection:
        if owner is not None:
            add_tenant(connection)
        nodes.add(connection, [Node(name, n, state, owner, 1) for n, name in enumerate(names)])
    return names


def add_tenant(connection: Connection, name: str = TENANT) -> None:
    connection.execute(sa.insert(schema.tenant).values(name=name, created_at=0))


def order(database: Database, plan: Plan, **fields: str) -> str:
    """Submit a plan; returns the id of its operation."""
    submission_fields: dict[str, Any] = {"actor": "alice", "reason": "ticket 17", "request": plan.summary} | fields
    return submit(database, plan, Submission(**submission_fields)).operation


def by_hand(
    database: Database, intervene: Callable[[Connection, str, Attribution], None], identity: str, because: Attribution
) -> None:
    """Carry out a person's decision in a transaction of its own."""
    with database.write() as connection:
        intervene(connection, identity, because)


def operation(database: Database, identity: str) -> Operation:
    with database.read() as connection:
        return journal.find(connection, identity)


def rows(database: Database, identity: str) -> dict[int, StepRow]:
    with database.read() as connection:
        return {row.n: row for row in journal.steps(connection, identity)}


def node_states(database: Database) -> dict[str, NodeState]:
    with database.read() as connection:
        return {node.xname: node.state for node in nodes.every(connection)}


def claimed(database: Database) -> dict[str, str]:
    """The operation that claims each node."""
    with database.read() as connection:
        everything = [node.xname for node in nodes.every(connection)]
        return {claim.node: claim.operation for claim in claims.held(connection, everything)}


def writer(database: Database) -> WriteTransaction:
    """A writer that runs transactions without a thread, one after the other, in the order of the calls."""

    async def write(change: Callable[[Connection], T]) -> T:
        await asyncio.sleep(0)
        with database.write() as connection:
            return change(connection)

    return write


def drive_resources(*kinds: StepKind, write: WriteTransaction) -> DriveResources:
    """The resources of a drive, for tests without a worker."""
    return DriveResources(
        register(*kinds), write, lambda _: nullcontext(), lambda: 0.5, parallel=16, stopping=lambda: False
    )


@asynccontextmanager
async def working(database: Database, *kinds: StepKind, **settings: Any) -> AsyncIterator[Worker]:
    """A worker in this process, stopped at the end as a service manager stops it."""
    worker = Worker(database, register(*kinds), Settings(**settings))
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        await running


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for the condition, at most ``seconds``: shorter than the sweep of a worker that was not woken."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


async def rested(database: Database, *identities: str) -> None:
    """Wait until no worker drives these operations any more: they ended or need attention."""
    await until(lambda: all(operation(database, identity).state not in DRIVEN for identity in identities))


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table."""
    with database.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=repr)
            for table in schema.metadata.sorted_tables
        }


def permanent(message: str = "refused") -> StepFailure:
    return PermanentFailure(message)


def temporary(message: str = "busy") -> StepFailure:
    return TemporaryFailure(message)
