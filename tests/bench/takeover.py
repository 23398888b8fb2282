"""How long an operation is nobody's after its worker died in the middle of a step.

A worker is killed (SIGKILL) while a device keeps it waiting; another worker process stands by, idle. The kills are
spread over the time between two renewals. Right after one is the worst moment: the whole lease has to run out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import sqlalchemy as sa

from bench.engine import order
from bench.figures import Row, median, number
from bench.hired import Hired
from bench.places import Place
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


def run(places: Sequence[Place]) -> Iterator[Row]:
    for place in places:
        times = _times(place)
        note = f"of {len(times)} kills; lease {LEASE:g} s, {number(min(times))} s at least"
        yield Row(f"{place.name}: take-over after kill -9, longest", max(times), "s", BUDGET, note)
        yield Row(f"{place.name}: take-over after kill -9, median", median(times), "s")


def _times(place: Place) -> list[float]:
    with place.fresh() as (url, database), ExitStack() as stack:

        def hire() -> Hired:
            hired = Hired(url, Settings(lease=LEASE))
            stack.callback(hired.kill)  # asked to stop, it would wait for its device
            hired.await_arrival(database)
            return hired

        driving = hire()
        identity = order(database, Plan("bench", "stuck", (Step(1, "stuck/1", "t1", "device", {"value": 1}),)))
        times = []
        for moment in MOMENTS:
            successor = hire()
            times.append(_take_over(database, identity, driving, moment))
            driving = successor
        return times


@dataclass(frozen=True, slots=True)
class Glance:
    fence: int
    touched_at: int
    now: int
    step: str


def _take_over(database: Database, identity: str, driving: Hired, moment: float) -> float:
    """Seconds from the kill to the beginning of the successor's lease, by the clock of the database."""
    row = (
        sa.select(operation.c.fence, operation.c.touched_at, now(), step.c.state)
        .join_from(operation, step, step.c.operation == operation.c.id)
        .where(operation.c.id == identity)
    )

    def look() -> Glance:
        with database.read() as connection:
            return Glance(*connection.execute(row).one())

    acting = _until(look, lambda seen: seen.step == StepState.ACTING)
    _until(look, lambda seen: seen.touched_at > acting.touched_at)
    time.sleep(moment * RENEWAL)
    before = look()
    driving.kill()
    # The successor renews only after a third of its lease; until then the take was the last to touch the row.
    after = _until(look, lambda seen: seen.fence != before.fence)
    return (after.touched_at - before.now) / SECOND


def _until(look: Callable[[], Glance], true: Callable[[Glance], bool]) -> Glance:
    until = time.monotonic() + 10 * LEASE
    while time.monotonic() < until:
        seen = look()
        if true(seen):
            return seen
        time.sleep(0.02)
    raise TimeoutError("the operation did not come to where it was to be")
