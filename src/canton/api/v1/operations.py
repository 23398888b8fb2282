"""Operations: list, show, steps, and what a person can do about one: retry, undo, abandon, cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.attribution import PERMISSION as ATTRIBUTION
from canton.api.auth.caller import CallerDep
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, Since, answers
from canton.api.rendering.operations import (
    ID_PATTERN,
    TEXT_PATTERN,
    Operation,
    accepted,
    maybe_text,
    render_operation,
)
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import json_response
from canton.domain.json_types import Json
from canton.domain.operation import OperationState, StepState
from canton.domain.timestamps import from_text, to_text
from canton.operations import interventions
from canton.operations.engine.completion import Attribution
from canton.store.listing import visible_in_both
from canton.store.operations import journal, lists

router = APIRouter(tags=["operations"])
OperationId = Annotated[str, Path(pattern=ID_PATTERN, description="The operation's identifier.")]
Text = Annotated[str | None, Query(pattern=TEXT_PATTERN)]


class Step(Body):
    """One goal for one target. Undo steps have negative numbers."""

    n: int
    kind: str
    target: str
    state: StepState
    tries: int
    acts: int
    begun_at: Instant | None
    changed_at: Instant
    evidence: dict[str, Any] | None
    error: dict[str, Any] | None
    cause: Annotated[
        str | None,
        Field(
            description="The driver's own message, with hosts and paths; null for callers with roles only in a tenant."
        ),
    ]


def step_renderer(*, to_provider: bool) -> Callable[[RowMapping], dict[str, Json]]:
    """A function that renders steps; only callers of the provider see the driver's message with hosts and paths."""
    plain = ("n", "kind", "target", "state", "tries", "acts", "evidence", "error")

    def render(row: RowMapping) -> dict[str, Json]:
        instants = {"begun_at": maybe_text(row["begun_at"]), "changed_at": to_text(row["changed_at"])}
        return {**{name: row[name] for name in plain}, "cause": row["cause"] if to_provider else None, **instants}

    return render


def _operation_filter(
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    state: OperationState | None = None,
    kind: Text = None,
    actor: Annotated[
        str | None,
        Query(
            pattern=TEXT_PATTERN,
            description=f"Only operations of this actor, in tenants where the caller holds {ATTRIBUTION}.",
        ),
    ] = None,
    node: Annotated[
        str | None, Query(pattern=TEXT_PATTERN, description="Only operations with a step on this node.")
    ] = None,
    since: Since = None,
) -> lists.OperationFilter:
    return lists.OperationFilter(tenant, state, kind, actor, node, from_text(since) if since else None)


@router.get("/operations", responses=answers(Items[Operation]))
def list_operations(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(lists.SORTS), tuple(Operation.model_fields), "-created_at")],
    operation_filter: Annotated[lists.OperationFilter, Depends(_operation_filter)],
) -> Response:
    """The operations that the caller may see, the newest first."""
    visible = caller.visible("operation.read")
    if operation_filter.actor is not None:
        # Otherwise a caller who may not see actors could find them by trying names.
        visible = visible_in_both(visible, caller.visible(ATTRIBUTION))
    with caller.database.read() as connection:
        list_page = lists.page(connection, visible, operation_filter, page.window)
        steps = lists.count_steps(connection, [row["id"] for row in list_page.rows])
    attribution_filter = caller.attribution_filter()
    return page.answer(list_page, lambda row: render_operation(row, steps[row["id"]], attribution_filter))


@router.get("/operations/{operation_id}", responses=answers(Operation))
def show_operation(caller: CallerDep, operation_id: OperationId) -> Response:
    """One operation."""
    with caller.database.read() as connection:
        row = lists.show(connection, operation_id, caller.visible("operation.read"))
        steps = lists.count_steps(connection, [operation_id])
    caller.charge(size=len(row["nodes"]))
    return json_response(render_operation(row, steps[operation_id], caller.attribution_filter()))


@router.get("/operations/{operation_id}/steps", responses=answers(Items[Step]))
def list_steps(
    caller: CallerDep,
    operation_id: OperationId,
    page: Annotated[Paging, paging(tuple(lists.STEP_SORTS), tuple(Step.model_fields))],
) -> Response:
    """The steps of an operation, with their state."""
    visible = caller.visible("operation.read")
    with caller.database.read() as connection:
        lists.show(connection, operation_id, visible)
        list_page = lists.page_of_steps(connection, operation_id, page.window)
    return page.answer(list_page, step_renderer(to_provider=visible is None))


def _intervene(
    operation_id: str,
    change: Change,
    intervention: Callable[[Connection, str, Attribution], None],
    *,
    undoes: bool = False,
) -> Response:
    with change.caller.database.read() as connection:
        origin = lists.origin(connection, operation_id)

    def apply(connection: Connection, attribution: Attribution) -> ChangeResult:
        intervention(connection, operation_id, attribution)
        answer = accepted(connection, operation_id, change.caller.attribution_filter())
        return ChangeResult(answer, operation_id, operation=operation_id)

    target = ChangeTarget(
        origin.tenant,
        journal.unknown(operation_id),
        "operation.read",
        by_provider=origin.by_provider,
        # The kind of an operation is also the permission that started it.
        undone_permission=origin.kind if undoes else None,
    )
    return change.carry_out(target, apply)


_ACCEPTED = answers(Operation, 202, change=True)


@router.post("/operations/{operation_id}/retry", status_code=202, responses=_ACCEPTED)
def retry_operation(operation_id: OperationId, change: Annotated[Change, change("operation.retry")]) -> Response:
    """Try its failed steps again; if they failed while undoing, the undo goes on."""
    return _intervene(operation_id, change, interventions.retry)


@router.post("/operations/{operation_id}/undo", status_code=202, responses=_ACCEPTED)
def undo_operation(operation_id: OperationId, change: Annotated[Change, change("operation.undo")]) -> Response:
    """Undo its steps in reverse order. Needs a second person if the operation itself did."""
    return _intervene(operation_id, change, interventions.undo, undoes=True)


@router.post("/operations/{operation_id}/abandon", status_code=202, responses=_ACCEPTED)
def abandon_operation(operation_id: OperationId, change: Annotated[Change, change("operation.abandon")]) -> Response:
    """End it without undoing, and release its nodes; nodes between two owners go to quarantine."""
    return _intervene(operation_id, change, interventions.abandon)


@router.post("/operations/{operation_id}/cancel", status_code=202, responses=_ACCEPTED)
def cancel_operation(operation_id: OperationId, change: Annotated[Change, change("operation.cancel")]) -> Response:
    """Stop it at the next safe point; device calls under way are finished first."""
    return _intervene(operation_id, change, interventions.cancel)
