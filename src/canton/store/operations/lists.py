"""Operations and steps for lists and answers, with the plan's summary and counts of steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.operations import journal
from canton.store.operations.plans import nodes_in
from canton.store.schema import operation, plan, step

SORTS = {"created_at": operation.c.created_at}
STEP_SORTS = {"n": step.c.n}

_SHOWN = (
    "id",
    "kind",
    "tenant",
    "actor",
    "reason",
    "plan",
    "state",
    "attention",
    "cancel_by",
    "worker",
    "created_at",
    "ended_at",
)
_OPERATION = sa.select(
    *(operation.c[name] for name in _SHOWN),
    # Plans of an earlier version have no summary column.
    sa.func.coalesce(plan.c.summary, operation.c.kind).label("summary"),
    nodes_in(plan.c.body).label("nodes"),
).join(plan, plan.c.digest == operation.c.plan)
_STEP_SHOWN = ("n", "kind", "target", "state", "tries", "acts", "begun_at", "changed_at", "evidence", "error", "cause")
_STEP = sa.select(*(step.c[name] for name in _STEP_SHOWN))


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """The operations of a list; None matches any. ``node`` is the target of a step."""

    tenant: str | None = None
    state: str | None = None
    kind: str | None = None
    actor: str | None = None
    node: str | None = None
    since: int | None = None


def page(connection: Connection, visible: Visible, operation_filter: OperationFilter, window: Window) -> ListPage:
    exact = {name: getattr(operation_filter, name) for name in ("tenant", "state", "kind", "actor")}
    conditions = [operation.c[name] == value for name, value in exact.items() if value is not None]
    if operation_filter.since is not None:
        conditions.append(operation.c.created_at >= operation_filter.since)
    if operation_filter.node is not None:
        about = sa.select(step.c.operation).where(step.c.target == operation_filter.node)
        conditions.append(operation.c.id.in_(about))
    query = _OPERATION.where(visible_to(visible, operation.c.tenant), *conditions)
    return fetch(connection, query, window, SORTS, operation.c.id)


def show(connection: Connection, operation_id: str, visible: Visible) -> RowMapping:
    query = _OPERATION.where(operation.c.id == operation_id, visible_to(visible, operation.c.tenant))
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise journal.unknown(operation_id)
    return row


class Origin(NamedTuple):
    """The tenant and kind of an operation, and whether a provider's role started it; all empty if it does not exist."""

    tenant: str | None = None
    by_provider: bool = False
    kind: str = ""


def origin(connection: Connection, operation_id: str) -> Origin:
    columns = (operation.c.tenant, operation.c.by_provider, operation.c.kind)
    row = connection.execute(sa.select(*columns).where(operation.c.id == operation_id)).one_or_none()
    return Origin() if row is None else Origin(row.tenant, bool(row.by_provider), row.kind)


def visible_among(connection: Connection, visible: Visible, operation_ids: Sequence[str]) -> set[str]:
    """The ids among ``operation_ids`` that the caller may see."""
    query = sa.select(operation.c.id).where(operation.c.id.in_(operation_ids), visible_to(visible, operation.c.tenant))
    return set(connection.scalars(query))


def count_steps(connection: Connection, operation_ids: Sequence[str]) -> dict[str, Counter[str]]:
    """The number of steps by state for each operation, including undo steps."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    query = (
        sa.select(step.c.operation, step.c.state, sa.func.count())
        .where(step.c.operation.in_(operation_ids))
        .group_by(step.c.operation, step.c.state)
    )
    for operation_id, state, number in connection.execute(query):
        counts[operation_id][state] = number
    return counts


def page_of_steps(connection: Connection, operation_id: str, window: Window) -> ListPage:
    return fetch(connection, _STEP.where(step.c.operation == operation_id), window, STEP_SORTS, step.c.n)
