"""Steps per second with several worker processes on PostgreSQL.

Operations of 20 chained steps lie ready while the workers wait; they become due in one transaction, and the clock
stops with the last of them. The workers, the server and the benchmark share this machine: where it has two
processors, four workers cannot be twice as fast as two. All in one tenant they cannot be either: the numbers of
one event stream are given out one transaction at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from bench.engine import chain, order
from bench.report import Row, number
from bench.worker_processes import WorkerProcess, start_workers
from canton.domain.operation import OperationState
from canton.store import doorbell
from canton.store.database import SECOND, Database, now
from canton.store.schema import operation

# Each of four workers drives 32 at a time.
OPERATIONS = 128
CHAIN = 20
TENANTS = 8
HOUR = 3600 * SECOND
# The first, small round is for statements to be compiled in every worker.
ROUNDS = (32, OPERATIONS, OPERATIONS)


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        if kind.name == "postgresql":
            yield from _rows(kind, TENANTS, (1, 2, 4))
            yield from _rows(kind, 1, (4,))


def _rows(kind: DatabaseKind, tenants: int, fleets: Sequence[int]) -> Iterator[Row]:
    with kind.fresh() as (url, database):
        rounds = [_prepare(database, n, count, tenants) for n, count in enumerate(ROUNDS)]
        database.close()
        for workers in fleets:
            speed, cpu = _measure(replace(kind, template=url), workers, rounds)
            what = f"{kind.name}: {workers} worker{'s' * (workers > 1)}, {tenants} tenant{'s' * (tenants > 1)}"
            note = (
                f"{number(cpu)} ms CPU a step; {OPERATIONS} operations of {CHAIN} steps; {os.cpu_count()} CPUs for all"
            )
            yield Row(what, speed, "steps/s", note=note)


def _measure(prepared: DatabaseKind, workers: int, rounds: Sequence[Sequence[str]]) -> tuple[float, float]:
    with prepared.fresh() as (url, database), start_workers(database, url, workers) as fleet:
        _let_go(database, fleet, rounds[0])
        return max(_let_go(database, fleet, identities) for identities in rounds[1:])


def _prepare(database: Database, round_: int, count: int, tenants: int) -> list[str]:
    """The ids of new operations that become due only in an hour."""
    identities = [order(database, chain(f"round {round_}, {n}", CHAIN, tenant=f"t{n % tenants}")) for n in range(count)]
    with database.write() as connection:
        parked = sa.update(operation).where(operation.c.id.in_(identities))
        connection.execute(parked.values(due_at=now() + HOUR))
    return identities


def _let_go(database: Database, fleet: Sequence[WorkerProcess], identities: Sequence[str]) -> tuple[float, float]:
    """Steps per second, and the workers' CPU per step in milliseconds."""
    mine = operation.c.id.in_(identities)
    cpu_before = sum(worker.cpu() for worker in fleet)
    with database.write() as connection:
        started = connection.execute(sa.update(operation).where(mine).values(due_at=now()).returning(now())).scalars()
        start = min(started)
        doorbell.ring(connection)
    end = _await_end(database, mine, len(identities))
    steps = len(identities) * CHAIN
    cpu = sum(worker.cpu() for worker in fleet) - cpu_before
    return steps / ((end - start) / SECOND), cpu * 1000 / steps


def _await_end(database: Database, mine: sa.ColumnElement[bool], count: int, seconds: float = 120.0) -> int:
    """When the last one was done, by the clock of the database."""
    finished = sa.select(sa.func.count(), sa.func.max(operation.c.ended_at)).where(
        mine, operation.c.state == OperationState.DONE
    )
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with database.read() as connection:
            ended, last = connection.execute(finished).one()
        if ended == count:
            return int(last)
        time.sleep(0.1)
    raise TimeoutError(f"{count} operations did not end within {seconds:g} s")
