"""Leases: which worker may drive which operation, and until when.

``operation.due_at`` is the one timer: from that instant any worker may take the operation. While a worker drives it,
that is the end of the lease; while it waits for a device, the time of the next observation; NULL: no worker may take
it. Every take adds one to ``fence``, and every write must have the current fence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import LeaseLost
from canton.domain.operation import OperationState
from canton.store.database import SECOND, now
from canton.store.prepared_statements import PreparedStatement
from canton.store.schema import operation


@dataclass(frozen=True, slots=True)
class TakenLease:
    """A lease that was taken; ``at`` is the database's time."""

    operation: str
    fence: int
    step_kinds: str
    at: int


@dataclass(frozen=True, slots=True)
class LeaseState:
    """The current request to cancel and the database's time, which a worker reads with every write."""

    cancel_by: str | None
    at: int


# Built once: constructing a statement takes SQLAlchemy longer than the database takes to execute it.
_MINE = operation.c.step_kinds.not_in(sa.bindparam("except_kinds", expanding=True))
_DUE = (
    sa.select(operation.c.id)
    .where(operation.c.due_at <= now(), _MINE)
    .order_by(operation.c.due_at)
    .limit(sa.bindparam("limit"))
    .with_for_update(skip_locked=True)
    .cte("due")
)
_TAKE = (
    sa.update(operation)
    .where(operation.c.id.in_(sa.select(_DUE.c.id)))
    .values(
        worker=sa.bindparam("by"),
        fence=operation.c.fence + 1,
        due_at=now() + sa.bindparam("lease", type_=sa.BigInteger),
        touched_at=now(),
        state=sa.case((operation.c.state == OperationState.QUEUED, OperationState.RUNNING), else_=operation.c.state),
    )
    .returning(operation.c.id, operation.c.fence, operation.c.step_kinds, operation.c.touched_at)
)


def take(
    connection: Connection, worker: str, lease: float, limit: int, except_kinds: Collection[str] = ()
) -> list[TakenLease]:
    """Lease up to ``limit`` due operations, the longest due first; rows that others are taking are skipped."""
    parameters = {"by": worker, "lease": _microseconds(lease), "limit": limit, "except_kinds": list(except_kinds)}
    return [TakenLease(*row) for row in connection.execute(_TAKE, parameters)]


def renew(connection: Connection, fences: Mapping[str, int], lease: float) -> dict[str, LeaseState]:
    """Extend the leases that are still ours; an operation that is missing in the result was taken over."""
    renewed: dict[str, LeaseState] = {}
    for identity, fence in sorted(fences.items()):
        row = connection.execute(
            sa.update(operation)
            .where(operation.c.id == identity, operation.c.fence == fence, operation.c.worker.is_not(None))
            .values(due_at=now() + _microseconds(lease), touched_at=now())
            .returning(operation.c.cancel_by, operation.c.touched_at)
        ).one_or_none()
        if row is not None:
            renewed[identity] = LeaseState(*row)
    return renewed


_HOLD = PreparedStatement(
    sa.select(operation.c.cancel_by, now())
    .where(operation.c.id == sa.bindparam("id"), operation.c.fence == sa.bindparam("fence"))
    .with_for_update()
)


def hold(connection: Connection, operation_id: str, fence: int) -> LeaseState:
    """Check the fence, and lock it until this transaction ends. The first statement of every write of the engine.

    Without the row lock, a take-over could commit between this check and our commit, and our write would come after
    it unnoticed.
    """
    row = _HOLD.execute(connection, {"id": operation_id, "fence": fence}).one_or_none()
    if row is None:
        raise LeaseLost(
            f"operation {operation_id} was taken over: fence {fence} is no longer valid; nothing was written",
            operation=operation_id,
            fence=fence,
        )
    return LeaseState(*row)


def release(connection: Connection, operation_id: str, due_at: int | None) -> None:
    """Release the lease; the operation is due at ``due_at``, or at once."""
    connection.execute(
        sa.update(operation)
        .where(operation.c.id == operation_id)
        .values(worker=None, due_at=now() if due_at is None else due_at, touched_at=now())
    )


_EARLIEST = (
    sa.select(operation.c.due_at - now())
    .where(operation.c.due_at.is_not(None), _MINE)
    .order_by(operation.c.due_at)
    .limit(1)
)


def seconds_until_due(connection: Connection, except_kinds: Collection[str] = ()) -> float | None:
    """Seconds until an operation is due; zero or negative if one is, None if none will be."""
    wait = connection.execute(_EARLIEST, {"except_kinds": list(except_kinds)}).scalar_one_or_none()
    return None if wait is None else wait / SECOND


def reset_future_timers(connection: Connection) -> int:
    """Make operations due that were touched in the future: the clock was set back, and their timers are too late."""
    return connection.execute(
        sa.update(operation)
        .where(operation.c.due_at.is_not(None), operation.c.touched_at > now() + SECOND)
        .values(due_at=now(), touched_at=now())
    ).rowcount


def _microseconds(seconds: float) -> int:
    return round(seconds * SECOND)
