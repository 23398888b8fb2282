"""Counts of open operations and live workers, for the metrics; without names of tenants."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.operation import ENDED, OperationState
from canton.store.database import now
from canton.store.operations import workers
from canton.store.schema import operation


@dataclass(frozen=True, slots=True)
class OpenWork:
    """``due`` is the number of operations that wait for a worker."""

    open_operations: dict[str, int]
    due: int
    workers: int


def count_open_work(connection: Connection, alive_within: float) -> OpenWork:
    rows = connection.execute(
        sa.select(operation.c.state, sa.func.count()).where(operation.c.ended_at.is_(None)).group_by(operation.c.state)
    )
    states = dict.fromkeys((str(state) for state in OperationState if state not in ENDED), 0)
    for state, count in rows:
        states[state] = count
    due = connection.scalar(sa.select(sa.func.count()).select_from(operation).where(operation.c.due_at <= now()))
    return OpenWork(states, due or 0, workers.alive(connection, alive_within))
