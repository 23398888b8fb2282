"""A claim does not get slower as the tables fill up.

Two databases, one nearly empty and one full, are asked the same in turn, so that a busy moment of the machine falls
on both alike. Full means 1,000,000 finished steps (of 50,000 operations) and 10,000 open operations: first all of
these wait for a timer and one more is due, then all are due. The statements are timed, not the commit: that costs
the same whatever is in the tables. Nothing is analysed by hand: PostgreSQL knows of the new rows what it knows in
the minute before autovacuum comes, or what that found out meanwhile.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from bench.engine import chain, order
from bench.report import Row, median, number, quantile
from bench.worker_processes import step_kinds
from canton.operations.engine.lease import Lease, uptime
from canton.operations.engine.runner import load
from canton.store.database import SECOND, Database, now
from canton.store.operations import leases
from canton.store.schema import operation
from devices import drive_resources, writer

WARM = 20
TAKES = 200
FINISHED = 50_000
OPEN = 10_000
CHAIN = 20
HOUR = 3600 * SECOND
# A median of a shared machine moves by a tenth or two; reading whole tables takes a hundred times as long.
SLOWER = 1.5

_OPERATIONS = """
INSERT INTO operation (id, kind, tenant, actor, reason, plan, step_kinds, fence, touched_at, created_at,
                       state, due_at, ended_at)
WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < :open + :finished)
SELECT 'op_' || (1000000 + i), kind, tenant, actor, reason, plan, step_kinds, 1, touched_at, created_at,
       CASE WHEN i <= :open THEN 'running' ELSE 'done' END,
       CASE WHEN i <= :open THEN due_at + :wait + i END,
       CASE WHEN i > :open THEN touched_at END
FROM number, operation WHERE id = :pattern
"""
_STEPS = """
INSERT INTO step (operation, n, kind, target, state, changed_at)
SELECT operation.id, step.n, step.kind, step.target,
       CASE WHEN operation.state = 'done' THEN 'done' ELSE 'pending' END, created_at
FROM operation, step WHERE step.operation = :pattern AND operation.id <> :pattern
"""
_READ_WHOLE = re.compile(r"(?:Seq Scan on|SCAN) (?:operation|step)\b")


@dataclass(frozen=True, slots=True)
class Times:
    """The durations of one statement that ran many times, in milliseconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


Measured = dict[str, Times]


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        with kind.fresh() as (_, empty), kind.fresh() as (_, full):
            for database in (empty, full):
                order(database, chain("pattern", CHAIN))
            _fill(full)
            yield from _rows(kind.name, *_side_by_side(empty, full), f"{OPEN:,} waiting")
            _make_all_due(full)
            yield from _rows(kind.name, *_side_by_side(empty, full), f"{OPEN:,} due")
            yield Row(f"{kind.name}: tables read whole to take and load", _tables_read_whole(full), "", 0, "by EXPLAIN")


def _rows(name: str, empty_times: Measured, full_times: Measured, among: str) -> Iterator[Row]:
    for what, empty in empty_times.items():
        full = full_times[what]
        note = (
            f"{_step(median(empty.wall), median(full.wall))} ms; "
            f"99 % within {_step(quantile(empty.wall, 0.99), quantile(full.wall, 0.99))}; "
            f"CPU {_step(median(empty.cpu), median(full.cpu))}"
        )
        slower = median(full.wall) / median(empty.wall)
        yield Row(f"{name}: {what}, {among}: full to empty", slower, "x", SLOWER, note)


def _step(first: float, second: float) -> str:
    return f"{number(first)} -> {number(second)}"


def _side_by_side(empty: Database, full: Database) -> tuple[Measured, Measured]:
    measured: tuple[Measured, Measured] = (defaultdict(Times), defaultdict(Times))
    for n in range(-WARM, TAKES):
        for database, times in zip((empty, full), measured, strict=True):
            _one_round(database, times if n >= 0 else defaultdict(Times))
    return measured


def _one_round(database: Database, times: Measured) -> None:
    """The statements of a worker from one operation to the next, without driving the operation."""
    with database.read() as connection, _timed(times["seconds_until_due"]):
        leases.seconds_until_due(connection)
    with database.write() as connection, _timed(times["take"]):
        [lease_row] = leases.take(connection, "bench", 15.0, 1)
    lease = Lease(lease_row.operation, lease_row.fence, uptime())
    idle = drive_resources(*step_kinds().values(), write=writer(database))
    with database.write() as connection, _timed(times["load"]):
        load(connection, lease, idle)
    with database.write() as connection:
        leases.release(connection, lease_row.operation, None)


@contextmanager
def _timed(times: Times) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times.cpu.append((time.process_time() - cpu) * 1000)
    times.wall.append((time.perf_counter() - wall) * 1000)


def _tables_read_whole(database: Database) -> int:
    """How often a plan for the statements of a round reads all of ``operation`` or ``step``."""
    statements: list[tuple[str, Any]] = []

    def keep(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        statements.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", keep)
    _one_round(database, defaultdict(Times))
    sa.event.remove(database.engine, "before_cursor_execute", keep)
    explain = "EXPLAIN" if database.is_postgresql else "EXPLAIN QUERY PLAN"
    with database.read() as connection:
        plans = [
            connection.exec_driver_sql(f"{explain} {statement}", parameters).all()
            for statement, parameters in statements
            if "operation" in statement
        ]
    return sum(reads_whole_table(str(line)) for plan in plans for line in plan)


def reads_whole_table(line: str) -> bool:
    """Whether a line of a plan, of either database, does not go by an index from one value to another."""
    return bool(_READ_WHOLE.search(line))


def _fill(database: Database) -> None:
    with database.write() as connection:
        pattern = connection.scalar(sa.text("SELECT id FROM operation"))
        values = {"pattern": pattern, "open": OPEN, "finished": FINISHED, "wait": HOUR}
        connection.execute(sa.text(_OPERATIONS), values)
        connection.execute(sa.text(_STEPS), {"pattern": pattern})


def _make_all_due(database: Database) -> None:
    with database.write() as connection:
        waiting = sa.update(operation).where(operation.c.due_at > now())
        connection.execute(waiting.values(due_at=operation.c.due_at - 2 * HOUR))
