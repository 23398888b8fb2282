"""How long an operation has no worker after its worker died in the middle of a step.

A worker is killed (SIGKILL) while a device keeps it waiting; another worker process stands by, idle. The kills are
spread over the time between two renewals. Right after one is the worst moment: the whole lease has to run out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from bench.engine import order
from bench.report import Row, median, number
from bench.worker_processes import WorkerProcess
from canton.domain.operation import StepState
from canton.operations.engine.worker import Settings
from canton.operations.plan.plan import Plan, Step
from canton.store.database import SECOND, Database, now
from canton.store.schema import operation, step

LEASE = 2.0
BUDGET = LEASE + 1.0
# When to kill, in parts of the time from one renewal to the next.
MOMENTS = (0.0, 0.5, 0.0, 0.8, 0.25)
RENEWAL = LEASE / 3


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        times = _times(kind)
        note = f"of {len(times)} kills; lease {LEASE:g} s, {number(min(times))} s at least"
        yield Row(f"{kind.name}: take-over after kill -9, longest", max(times), "s", BUDGET, note)
        yield Row(f"{kind.name}: take-over after kill -9, median", median(times), "s")


def _times(kind: DatabaseKind) -> list[float]:
    with kind.fresh() as (url, database), ExitStack() as stack:

        def start_worker() -> WorkerProcess:
            worker = WorkerProcess(url, Settings(lease=LEASE))
            stack.callback(worker.kill)  # asked to stop, it would wait for its device
            worker.await_arrival(database)
            return worker

        driving = start_worker()
        identity = order(database, Plan("bench", "stuck", (Step(1, "stuck/1", "t1", "device", {"value": 1}),)))
        times = []
        for moment in MOMENTS:
            successor = start_worker()
            times.append(_take_over(database, identity, driving, moment))
            driving = successor
        return times


@dataclass(frozen=True, slots=True)
class LeaseState:
    fence: int
    touched_at: int
    now: int
    step: str


def _take_over(database: Database, identity: str, driving: WorkerProcess, moment: float) -> float:
    """Seconds from the kill to the beginning of the successor's lease, by the clock of the database."""
    row = (
        sa.select(operation.c.fence, operation.c.touched_at, now(), step.c.state)
        .join_from(operation, step, step.c.operation == operation.c.id)
        .where(operation.c.id == identity)
    )

    def look() -> LeaseState:
        with database.read() as connection:
            return LeaseState(*connection.execute(row).one())

    acting = _until(look, lambda lease_state: lease_state.step == StepState.ACTING)
    _until(look, lambda lease_state: lease_state.touched_at > acting.touched_at)
    time.sleep(moment * RENEWAL)
    last_state = look()
    driving.kill()
    # The successor renews only after a third of its lease; until then the take was the last to touch the row.
    taken_over = _until(look, lambda lease_state: lease_state.fence != last_state.fence)
    return (taken_over.touched_at - last_state.now) / SECOND


def _until(look: Callable[[], LeaseState], true: Callable[[LeaseState], bool]) -> LeaseState:
    until = time.monotonic() + 10 * LEASE
    while time.monotonic() < until:
        lease_state = look()
        if true(lease_state):
            return lease_state
        time.sleep(0.02)
    raise TimeoutError("the operation did not come to where it was to be")
