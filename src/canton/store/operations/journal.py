"""The journal: operations and their steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import UnknownOperation
from canton.domain.json_types import JsonObject
from canton.domain.operation import DRIVEN, ENDED, UNDER_WAY, OperationState, StepState
from canton.store.database import now
from canton.store.prepared_statements import PreparedStatement
from canton.store.schema import operation, step


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    kind: str
    tenant: str | None
    actor: str
    reason: str
    plan: str
    state: OperationState
    attention: JsonObject | None
    cancel_by: str | None
    worker: str | None
    fence: int
    due_at: int | None
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """The row of a step. ``acts`` counts all its device calls; ``tries`` those since the last retry."""

    n: int
    kind: str
    target: str
    state: StepState = StepState.PENDING
    acts: int = 0
    tries: int = 0
    begun_at: int | None = None
    acted_at: int | None = None
    held_at: int | None = None
    not_before: int | None = None
    changed_at: int = 0
    evidence: JsonObject | None = None
    error: JsonObject | None = None
    cause: str | None = None
    """The part of the error that only the provider may read: hosts, paths, accounts, the driver's own message."""


_OPERATION = sa.select(*(operation.c[name] for name in Operation.__slots__))
_STEP = sa.select(*(step.c[name] for name in StepRow.__slots__)).order_by(step.c.n)
_WRITTEN = ("state", "acts", "tries", "begun_at", "acted_at", "held_at", "not_before", "evidence", "error", "cause")
_SAVE = PreparedStatement(
    sa.update(step)
    .where(step.c.operation == sa.bindparam("of"), step.c.n == sa.bindparam("at"))
    .values({name: sa.bindparam(f"new_{name}") for name in _WRITTEN} | {"changed_at": now()})
)


def insert(connection: Connection, values: dict[str, Any]) -> None:
    """A new operation, due at once."""
    fresh = {"state": OperationState.QUEUED, "due_at": now(), "touched_at": now(), "created_at": now()}
    connection.execute(sa.insert(operation).values(values | fresh))


def insert_steps(connection: Connection, operation_id: str, rows: Iterable[StepRow]) -> None:
    names = ("n", "kind", "target", "state", "acted_at")
    values = [{"operation": operation_id} | {name: getattr(row, name) for name in names} for row in rows]
    if values:
        connection.execute(sa.insert(step).values(changed_at=now()), values)


def find(connection: Connection, operation_id: str, *, lock: bool = False) -> Operation:
    """One operation; with ``lock`` no other transaction can change it before this one ends."""
    query = _OPERATION.where(operation.c.id == operation_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise unknown(operation_id)
    return _operation(row)


def unknown(operation_id: str) -> UnknownOperation:
    """The same error for an absent object and for one that the caller may not see."""
    return UnknownOperation(
        f"there is no operation {operation_id} that you may see; list those with: canton operation list",
        operation=operation_id,
    )


def steps(connection: Connection, operation_id: str) -> list[StepRow]:
    rows = connection.execute(_STEP.where(step.c.operation == operation_id))
    return [_step(row) for row in rows]


def save(connection: Connection, operation_id: str, rows: Sequence[StepRow]) -> None:
    """Write steps under way; the caller holds the operation's fence."""
    _SAVE.execute_each(connection, [_saved(operation_id, row) for row in rows])


def _saved(operation_id: str, row: StepRow) -> dict[str, Any]:
    values = {f"new_{name}": getattr(row, name) for name in _WRITTEN}
    for document in ("new_evidence", "new_error"):
        if values[document] is not None:
            values[document] = json.dumps(values[document])
    return values | {"of": operation_id, "at": row.n}


def skip_pending(connection: Connection, operation_id: str) -> None:
    """Close the steps that will never run, so that an ended operation has no open rows."""
    connection.execute(
        sa.update(step)
        .where(step.c.operation == operation_id, step.c.state == StepState.PENDING)
        .values(state=StepState.SKIPPED, changed_at=now())
    )


def fail_under_way(connection: Connection, operation_id: str, error: JsonObject, cause: str) -> None:
    """Fail the steps under way; a retry observes them again."""
    connection.execute(
        sa.update(step)
        .where(step.c.operation == operation_id, step.c.state.in_(UNDER_WAY))
        .values(state=StepState.FAILED, not_before=None, error=error, cause=cause, changed_at=now())
    )


def reset_failed(connection: Connection, operation_id: str, *, undoing: bool) -> int:
    """Reset deadline and tries of the failed steps of one direction; ``acts`` keeps its count."""
    side = step.c.n < 0 if undoing else step.c.n > 0
    return connection.execute(
        sa.update(step)
        .where(step.c.operation == operation_id, step.c.state == StepState.FAILED, side)
        .values(state=StepState.WAITING, tries=0, begun_at=None, not_before=None, changed_at=now())
    ).rowcount


def set_state(
    connection: Connection, operation_id: str, state: OperationState, attention: JsonObject | None = None
) -> None:
    """Set the state of an operation and release its lease; the fence grows, so a former worker can no longer write."""
    connection.execute(
        sa.update(operation)
        .where(operation.c.id == operation_id)
        .values(
            state=state,
            attention=attention,
            worker=None,
            fence=operation.c.fence + 1,
            due_at=now() if state in DRIVEN else None,
            touched_at=now(),
            ended_at=now() if state in ENDED else None,
        )
    )


def set_cancel(connection: Connection, operation_id: str, actor: str | None) -> None:
    """Set or clear the request to cancel, for the worker that drives it; a waiting operation becomes due."""
    waiting = operation.c.worker.is_(None)
    connection.execute(
        sa.update(operation)
        .where(operation.c.id == operation_id)
        .values(cancel_by=actor, due_at=sa.case((waiting, now()), else_=operation.c.due_at), touched_at=now())
    )


def open_step_kinds(connection: Connection) -> frozenset[str]:
    """The step kinds that open operations may still need."""
    open_states = [*DRIVEN, OperationState.NEEDS_ATTENTION]
    rows = connection.scalars(sa.select(operation.c.step_kinds).where(operation.c.state.in_(open_states)).distinct())
    return frozenset(kind for kinds in rows for kind in kinds.split())


def _operation(row: Any) -> Operation:
    return Operation(**row._asdict() | {"state": OperationState(row.state)})


def _step(row: Any) -> StepRow:
    return StepRow(**row._asdict() | {"state": StepState(row.state)})
