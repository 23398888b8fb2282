"""Actions of the provider on the life cycle of nodes: enroll, assign, release, maintenance, retire, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection

from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, change
from canton.api.mutations.node_operations import (
    PLANNED,
    DryRun,
    NodeNames,
    NodeRequest,
    find_nodes,
    plan_or_start,
    with_holders,
)
from canton.api.rendering.documents import Body, Name, answers
from canton.api.rendering.operations import Operation
from canton.api.rendering.responses import Answer
from canton.domain.errors import WrongState
from canton.domain.nodeset.nodeset import fold
from canton.operations.engine.completion import Attribution
from canton.operations.plan.plan import Plan
from canton.operations.planners.node_lifecycle import ACTIONS, plan_lifecycle_action
from canton.store.access import quotas
from canton.store.inventory import nodes

router = APIRouter(tags=["nodes"], route_class=Route)


class EnrollRequest(NodeRequest):
    sanitised_by_hand: Annotated[
        Literal[True],
        Field(description="The caller confirms that nothing of an earlier user is left on the nodes."),
    ]


class AssignRequest(NodeRequest):
    tenant: Annotated[Name, Field(description="The tenant that gets the nodes.", examples=["psi"])]


class MaintenanceRequest(NodeRequest):
    power: Annotated[
        Literal["off", "unchanged"],
        Field(description="`unchanged`: do not power the nodes off, for a controller that does not answer."),
    ] = "off"


class Deleted(Body):
    nodes: Annotated[str, Field(description="A nodeset, folded.")]
    count: int


@router.post("/nodes/enroll", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def enroll_nodes(
    node_request: EnrollRequest, change: Annotated[Change, change("node.enroll")], dry_run: DryRun = False
) -> Response:
    """Power nodes off and make them free: nodes that are discovered, in quarantine or in maintenance.

    Canton does not sanitise nodes yet. The caller confirms that they did, and the audit records it.
    """
    return plan_or_start(
        change, node_request, lambda snapshot, _: plan_lifecycle_action(snapshot, ACTIONS["enroll"]), dry_run=dry_run
    )


@router.post("/nodes/assign", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def assign_nodes(
    node_request: AssignRequest, change: Annotated[Change, change("node.assign")], dry_run: DryRun = False
) -> Response:
    """Power free nodes off and give them to a tenant, within its quota.

    Canton does not move networks yet and proves nothing: the nodes' `separation` is `unproven`.
    """

    def require_room(connection: Connection, plan: Plan) -> None:
        quotas.require_room(connection, node_request.tenant, "nodes", len(plan.nodes))

    return plan_or_start(
        change,
        node_request,
        lambda snapshot, _: plan_lifecycle_action(snapshot, ACTIONS["assign"], node_request.tenant),
        dry_run=dry_run,
        require=require_room,
    )


@router.post("/nodes/release", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def release_nodes(
    node_request: NodeRequest, change: Annotated[Change, change("node.release")], dry_run: DryRun = False
) -> Response:
    """Take nodes from their tenant: they are powered off and end in quarantine, because nothing is sanitised."""
    return plan_or_start(
        change,
        node_request,
        lambda snapshot, tenant: plan_lifecycle_action(snapshot, ACTIONS["release"], tenant),
        dry_run=dry_run,
    )


@router.post("/nodes/maintenance", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def maintain_nodes(
    node_request: MaintenanceRequest, change: Annotated[Change, change("node.maintenance")], dry_run: DryRun = False
) -> Response:
    """Power nodes off and take them out of service; only nodes without a tenant. Back into service: enroll."""
    off = node_request.power == "off"
    return plan_or_start(
        change,
        node_request,
        lambda snapshot, _: plan_lifecycle_action(snapshot, ACTIONS["maintenance"], power_off=off),
        dry_run=dry_run,
    )


@router.post("/nodes/retire", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def retire_nodes(
    node_request: NodeRequest, change: Annotated[Change, change("node.retire")], dry_run: DryRun = False
) -> Response:
    """Retire nodes in maintenance for good. Nothing is done to the hardware, which may already be removed."""
    return plan_or_start(
        change, node_request, lambda snapshot, _: plan_lifecycle_action(snapshot, ACTIONS["retire"]), dry_run=dry_run
    )


@router.post("/nodes/delete", responses=answers(Deleted, change=True))
def delete_nodes(
    node_names: NodeNames,
    change: Annotated[Change, change("node.delete")],
    dry_run: Annotated[bool, Query(description="Answer with what would be deleted, and delete nothing.")] = False,
) -> Response:
    """Delete retired nodes, all of them or none; audit, events and operations keep their names."""
    target = find_nodes(change, node_names.nodes)
    xnames = [row["xname"] for row in target.rows]
    answer = Answer({"nodes": fold(xnames), "count": len(xnames)})

    def check(connection: Connection) -> None:
        if target.missing:
            raise nodes.unknown(target.missing)
        try:
            nodes.require_deletable(connection, xnames)
        except WrongState as error:
            raise with_holders(connection, change.caller, target.rows, error) from error

    if dry_run:
        change.decide(target.change_target())
        with change.caller.database.read() as connection:
            check(connection)
        return answer.response()

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        nodes.lock_for_deletion(connection, xnames)
        check(connection)
        nodes.delete(connection, xnames)
        return ChangeResult(answer, f"nodes:{fold(xnames)}"[:200], "node.deleted", dict(answer.body or {}))

    return change.carry_out(target.change_target(), apply)
