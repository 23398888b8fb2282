"""From the names of nodes to an operation on them: permission, nodes, plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.caller import Caller
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget
from canton.api.rendering.documents import Body
from canton.api.rendering.operations import Digest, accepted, render_plan
from canton.api.rendering.operations import Plan as PlanDocument
from canton.api.rendering.responses import json_response
from canton.domain.errors import CantonError, InvalidRequest, NodesClaimed, WrongState
from canton.domain.lifecycle import NodeState, is_transient
from canton.domain.node import Node
from canton.domain.nodeset.nodeset import fold, parse_counted
from canton.operations import submit
from canton.operations.engine.completion import Attribution
from canton.operations.plan.plan import Plan
from canton.operations.planners.power_nodes import NodeSnapshot
from canton.operations.submit import Submission, submit_within
from canton.policy.permissions import PROVIDERS
from canton.store.access import quotas, tenants
from canton.store.inventory import nodes
from canton.store.operations import lists as operation_lists
from canton.store.operations import plans

# An operation claims this many nodes in one statement on every build of SQLite.
MAX_NODES = 10_000
# Characters of a short xname and its comma.
CHARACTERS_PER_NAME = 14
NODESET_PATTERN = r"^[A-Za-z0-9\[\]_.:,/!&\^@ -]+$"
Planner = Callable[[NodeSnapshot, str | None], Plan]
Requirement = Callable[[Connection, Plan], None]
DryRun = Annotated[bool, Query(description="Answer with the plan, and change nothing.")]
PLANNED: dict[int | str, dict[str, Any]] = {200: {"description": "The plan of a dry run.", "model": PlanDocument}}


class NodeNames(Body):
    nodes: Annotated[
        str,
        Field(
            pattern=NODESET_PATTERN,
            max_length=200_000,
            description=f"A nodeset of xnames or of numbers such as nid001234; at most {MAX_NODES:,} nodes.",
            examples=["x1000c0s[0-3]b0n0"],
        ),
    ]


class NodeRequest(NodeNames):
    plan: Annotated[
        Digest | None,
        Field(description="The digest of a reviewed plan; the request is refused if its plan is a different one now."),
    ] = None


def parse_names(caller: Caller, nodeset: str) -> frozenset[str]:
    """The names in a nodeset. They count against the rate limit, also if the nodeset is refused."""
    caller.charge(entries=len(nodeset) // CHARACTERS_PER_NAME)
    names, count = parse_counted(nodeset, limit=MAX_NODES)
    caller.charge(entries=count)
    return names.names


@dataclass(frozen=True, slots=True)
class NodeTarget:
    """The rows of the named nodes, and the names without a node."""

    rows: Sequence[RowMapping]
    missing: Collection[str]

    @property
    def tenants(self) -> frozenset[str | None]:
        return frozenset(row["tenant"] for row in self.rows)

    def change_target(self) -> ChangeTarget:
        """The target of the change; nodes of several tenants, and unknown ones, need a role at the provider."""
        if self.missing:
            return ChangeTarget(None, nodes.unknown(self.missing), "node.read")
        tenant = next(iter(self.tenants)) if len(self.tenants) == 1 else None
        return ChangeTarget(tenant, resolved=[row["xname"] for row in self.rows])


def plan_or_start(
    change: Change,
    node_request: NodeRequest,
    planner: Planner,
    *,
    dry_run: bool,
    require: Requirement = lambda _connection, _plan: None,
) -> Response:
    """Start the operation that ``planner`` plans for the nodes, or only show the plan, after the same checks."""
    target = find_nodes(change, node_request.nodes)
    change_target = target.change_target()
    plan = _plan_or_error(change.caller, target, change_target.tenant, planner)
    if dry_run:
        decision = change.decide(change_target)
        dry_run_plan = _require_plan(plan)
        with change.caller.database.read() as connection:
            _check(connection, dry_run_plan, decision.rule, require)
        return _show(change.caller, dry_run_plan)

    def apply(connection: Connection, attribution: Attribution) -> ChangeResult:
        current_plan = _require_plan(plan)
        rule = str(attribution.context["rule"])
        if current_plan.tenant is not None:
            tenants.lock(connection, current_plan.tenant)
        _check(connection, current_plan, rule, require)
        if node_request.plan is not None and node_request.plan != current_plan.digest:
            # The caller is told what differs only if it may see the reviewed plan.
            plans.show(
                connection, node_request.plan, plans.PlanVisibility(change.caller.visible("plan.read"), PROVIDERS)
            )
        submission = Submission(
            attribution.actor,
            attribution.reason,
            None,
            reviewed=node_request.plan,
            by_provider=_is_provider(rule),
            context=attribution.context,
        )
        with _hide_foreign_holders(connection, change.caller):
            operation = submit_within(connection, current_plan, submission).operation
        return ChangeResult(
            accepted(connection, operation, change.caller.attribution_filter()), operation, operation=operation
        )

    return change.carry_out(change_target, apply)


def _is_provider(rule: str) -> bool:
    """Whether a role at the provider allowed the change."""
    return rule.startswith("provider:")


def _check(connection: Connection, plan: Plan, rule: str, require: Requirement) -> None:
    """Raise unless the tenant exists and has quota for one more open operation; the provider's do not count."""
    if plan.tenant is not None:
        tenants.find(connection, plan.tenant)
        if not _is_provider(rule):
            quotas.require_room(connection, plan.tenant, "open_operations")
    require(connection, plan)


def find_nodes(change: Change, nodeset: str) -> NodeTarget:
    """The named nodes. Policy is asked first, so that only callers with the permission cause names to be expanded."""
    change.require_anywhere()
    caller, names = change.caller, parse_names(change.caller, nodeset)
    if not names:
        raise InvalidRequest(f'the nodeset "{nodeset[:200]}" names no nodes; name at least one', nodes=nodeset[:200])
    with caller.database.read() as connection:
        by_name = nodes.named(connection, caller.visible("node.read"), names)
    distinct: Mapping[str, RowMapping] = {row["xname"]: row for row in by_name.values()}
    return NodeTarget(sorted(distinct.values(), key=lambda row: nodes.place_of(row["xname"])), names - by_name.keys())


def _plan_or_error(caller: Caller, target: NodeTarget, tenant: str | None, planner: Planner) -> Plan | CantonError:
    """The plan, or the error, which is raised only after policy has decided, and not for a repeated request."""
    if target.missing:
        return nodes.unknown(target.missing)
    try:
        return planner(_snapshot(target.rows), tenant)
    except WrongState as error:
        with caller.database.read() as connection:
            return with_holders(connection, caller, target.rows, error)
    except CantonError as error:
        return error


def with_holders(connection: Connection, caller: Caller, rows: Sequence[RowMapping], error: WrongState) -> WrongState:
    """The error with the operations that hold nodes in a transient state, as far as the caller may see them."""
    moving = [row for row in rows if is_transient(NodeState(row["state"])) and row["claimed_by"] is not None]
    if not moving:
        return error
    holders = sorted({row["claimed_by"] for row in moving})
    visible = sorted(operation_lists.visible_among(connection, caller.visible("operation.read"), holders))
    more = f" and {len(visible) - 1} more" if len(visible) > 1 else ""
    holder = (
        f"held by {visible[0]}{more}; see: canton operation show {visible[0]}"
        if visible
        else "held by an operation that you may not see; wait for it, or ask the provider"
    )
    return WrongState(f"{error.message}; {holder}", cause="", **error.details)


def _require_plan(plan: Plan | CantonError) -> Plan:
    if isinstance(plan, CantonError):
        raise plan
    return plan


def _snapshot(rows: Sequence[RowMapping]) -> NodeSnapshot:
    snapshot_nodes = [Node(r["xname"], r["nid"], NodeState(r["state"]), r["tenant"], r["version"]) for r in rows]
    power = {row["xname"]: row["power"] for row in rows if row["power"] is not None}
    return NodeSnapshot(snapshot_nodes, power, f"power@{_site(rows)}")


def _site(rows: Sequence[RowMapping]) -> str:
    nodes_without_site = [row["xname"] for row in rows if row["site"] is None]
    if nodes_without_site:
        raise WrongState(
            f"{fold(nodes_without_site)} belongs to no site, so its power service is not known; "
            "import it with its site",
            nodes=fold(nodes_without_site),
        )
    sites = sorted({row["site"] for row in rows})
    if len(sites) > 1:
        raise WrongState(
            f"the nodes stand at {len(sites)} sites ({', '.join(sites)}); name those of one site at a time, such as "
            f"@TENANT/{sites[0]}, or select them by site={sites[0]}",
            sites=sites,
        )
    return str(sites[0])


@contextmanager
def _hide_foreign_holders(connection: Connection, caller: Caller) -> Iterator[None]:
    """Hide the holders of nodes that the caller may not see: the purpose of an operation names its nodes."""
    try:
        yield
    except NodesClaimed as error:
        claims = cast("Sequence[Mapping[str, str]]", error.details["claims"])
        holders = {claim["operation"] for claim in claims}
        if operation_lists.visible_among(connection, caller.visible("operation.read"), sorted(holders)) == holders:
            raise
        folded = fold(claim["node"] for claim in claims)
        raise NodesClaimed(
            f"{folded} held by an operation that you may not see; wait for it, or ask the provider", nodes=folded
        ) from error


def _show(caller: Caller, plan: Plan) -> Response:
    submit.dry_run(caller.database, plan)
    with caller.database.read() as connection:
        row = plans.show(connection, plan.digest, plans.PlanVisibility(None, PROVIDERS))
    return json_response(render_plan(row))
