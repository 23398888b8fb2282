"""What a step costs beside its device: CPU of the worker process, and time.

An operation of many steps is submitted to an idle worker; its CPU is read before and after. Planning and
submission are not in it, leasing and loading the operation are. Of several runs the least is kept: on a shared
machine the slower runs include other processes. On PostgreSQL the server's own CPU is not in it, on SQLite all is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from bench.report import Row
from bench.worker_processes import WorkerProcess, start_workers
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.domain.operation import DRIVEN, OperationState
from canton.operations.plan.plan import Plan, Step
from canton.operations.planners.power_nodes import NodeSnapshot, plan_power
from canton.operations.submit import Submission, submit
from canton.store import schema
from canton.store.database import SECOND, Database
from canton.store.inventory import nodes
from canton.store.operations import journal

RUNS = 5
STEPS = 1_000
DISTANT_STEPS = 200
BUDGET = 1.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per step."""

    cpu: float
    wall: float


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        with kind.fresh() as (url, database), start_workers(database, url) as [worker]:
            yield from _rows(kind.name, database, worker)


def _rows(name: str, database: Database, worker: WorkerProcess) -> Iterator[Row]:
    drive(database, worker, chain("warm", 20))  # statements are compiled once in the life of a worker
    acted = least(drive(database, worker, chain(f"run {n}", STEPS)) for n in range(RUNS))
    # The goal of the last run again: the devices show it already.
    at_goal = least(drive(database, worker, chain(f"run {RUNS - 1}", STEPS)) for _ in range(RUNS))
    together = least(_powered(database, worker))
    distant = least(drive(database, worker, chain(f"run {n}", DISTANT_STEPS, "distant/1")) for n in range(2))

    many = f"least of {RUNS} runs of {STEPS:,} steps"
    yield Row(f"{name}: step acted, in a chain: CPU", acted.cpu, "ms", BUDGET, f"look, act, look; {many}")
    yield Row(f"{name}: step acted, in a chain: wall", acted.wall, "ms")
    yield Row(f"{name}: step at its goal: CPU", at_goal.cpu, "ms", BUDGET, "one look, no act")
    yield Row(f"{name}: step at its goal: wall", at_goal.wall, "ms")
    yield Row(f"{name}: step acted, 100 in a call: CPU", together.cpu, "ms", BUDGET, f"set_power of {STEPS:,} nodes")
    yield Row(f"{name}: step acted, 100 in a call: wall", together.wall, "ms")
    note = "every device call takes 5 ms, three a step: two transactions a step instead of one"
    yield Row(f"{name}: step acted, distant device: CPU", distant.cpu, "ms", note=note)
    yield Row(f"{name}: step acted, distant device: wall", distant.wall, "ms", note="15 of them are the device's")


def least(costs: Iterable[Cost]) -> Cost:
    all_costs = list(costs)
    return Cost(min(cost.cpu for cost in all_costs), min(cost.wall for cost in all_costs))


def chain(value: str, count: int, kind: str = "instant/1", tenant: str | None = None) -> Plan:
    """A plan of ``count`` steps, each of which needs the step before it."""
    steps = (Step(n, kind, f"t{n}", "device", {"value": value}, needs=(n - 1,) if n > 1 else ()) for n in _to(count))
    return Plan("bench", f"bench {value}", tuple(steps), tenant=tenant)


def _to(count: int) -> range:
    return range(1, count + 1)


def _powered(database: Database, worker: WorkerProcess) -> Iterator[Cost]:
    machine = [Node(f"x1000c0s{n}b0n0", n, NodeState.FREE, None, 1) for n in range(STEPS)]
    with database.write() as connection:
        nodes.add(connection, machine)
    for n in range(RUNS):
        want, state_before = ("off", "on") if n % 2 else ("on", "off")
        observed = NodeSnapshot(machine, dict.fromkeys((node.xname for node in machine), state_before), "pcs")
        yield drive(database, worker, plan_power(observed, want))


def drive(database: Database, worker: WorkerProcess, plan: Plan) -> Cost:
    """Run a plan to its end; returns the cost per step."""
    cpu_before = worker.cpu()
    identity = order(database, plan)
    operation = await_end(database, identity)
    cpu = worker.cpu() - cpu_before
    with database.read() as connection:
        began_at = connection.scalar(
            sa.select(sa.func.min(schema.step.c.begun_at)).where(schema.step.c.operation == identity)
        )
    steps = len(plan.steps)
    return Cost(cpu * 1000 / steps, ((operation.ended_at or 0) - (began_at or 0)) / SECOND * 1000 / steps)


def order(database: Database, plan: Plan) -> str:
    return submit(database, plan, Submission("bench", "to see what it costs", plan.summary)).operation


def await_end(database: Database, identity: str, seconds: float = 120.0) -> journal.Operation:
    """Reads the state every 50 ms only: on a small machine more frequent reads slow the operation down."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with database.read() as connection:
            operation = journal.find(connection, identity)
        if operation.state not in DRIVEN:
            if operation.state is not OperationState.DONE:
                raise AssertionError(f"the operation came to {operation.state}: {operation.attention}")
            return operation
        time.sleep(0.05)
    raise TimeoutError(f"operation {identity} did not end within {seconds:g} s")
