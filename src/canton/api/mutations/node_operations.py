"""From the names of nodes to an operation on them: who may, on which nodes, by which plan."""

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
from canton.api.mutations.changes import Change, Done, On
from canton.api.rendering.documents import Body
from canton.api.rendering.operations import Digest, accepted, render_plan
from canton.api.rendering.operations import Plan as PlanDocument
from canton.api.rendering.responses import json_response
from canton.domain.errors import CantonError, InvalidRequest, NodesClaimed, WrongState
from canton.domain.lifecycle import NodeState, is_transient
from canton.domain.node import Node
from canton.domain.nodeset.nodeset import fold, parse_counted
from canton.operations import submit
from canton.operations.engine.completion import Because
from canton.operations.plan.plan import Plan
from canton.operations.planners.power_nodes import Seen
from canton.operations.submit import Submission, submit_within
from canton.policy.permissions import PROVIDERS
from canton.store.access import quotas, tenants
from canton.store.inventory import nodes
from canton.store.operations import lists as operation_lists
from canton.store.operations import plans

# As many as an operation claims in one statement, on every build of SQLite.
LARGEST = 10_000
# Characters of a short xname and its comma.
LENGTH = 14
NODESET_PATTERN = r"^[A-Za-z0-9\[\]_.:,/!&\^@ -]+$"
Planner = Callable[[Seen, str | None], Plan]
Requirement = Callable[[Connection, Plan], None]
DryRun = Annotated[bool, Query(description="Answer with the plan, and do nothing.")]
PLANNED: dict[int | str, dict[str, Any]] = {200: {"description": "The plan of a dry run.", "model": PlanDocument}}


class NodeNames(Body):
    nodes: Annotated[
        str,
        Field(
            pattern=NODESET_PATTERN,
            max_length=200_000,
            description=f"Xnames or numbers such as nid001234, folded or not; at most {LARGEST:,}.",
            examples=["x1000c0s[0-3]b0n0"],
        ),
    ]


class NodeOrder(NodeNames):
    plan: Annotated[Digest | None, Field(description="Only if this is still the plan.")] = None


def parse_names(caller: Caller, nodeset: str) -> frozenset[str]:
    """The names in a nodeset; they count as the entries of a list do, also in one that is refused."""
    caller.charge(entries=len(nodeset) // LENGTH)
    names, written = parse_counted(nodeset, limit=LARGEST)
    caller.charge(entries=written)
    return names.names


@dataclass(frozen=True, slots=True)
class Target:
    """The nodes that were found, and the names that were not."""

    found: Sequence[RowMapping]
    missing: Collection[str]

    @property
    def tenants(self) -> frozenset[str | None]:
        return frozenset(row["tenant"] for row in self.found)

    def on(self) -> On:
        """Nodes of several owners at once are the provider's matter, and so is what is not there."""
        if self.missing:
            return On(None, nodes.unknown(self.missing), "node.read")
        tenant = next(iter(self.tenants)) if len(self.tenants) == 1 else None
        return On(tenant, stands_for=[row["xname"] for row in self.found])


def order(
    change: Change,
    wanted: NodeOrder,
    planner: Planner,
    *,
    dry_run: bool,
    require: Requirement = lambda _connection, _plan: None,
) -> Response:
    """Carry out what ``planner`` makes of the nodes, or only show it. A dry run checks what the real one checks."""
    target = look(change, wanted.nodes)
    on = target.on()
    plan = _planned(change.caller, target, on.tenant, planner)
    if dry_run:
        decision = change.decide(on)
        planned = _required(plan)
        with change.caller.database.read() as connection:
            _check(connection, planned, decision.rule, require)
        return _show(change.caller, planned)

    def act(connection: Connection, because: Because) -> Done:
        made = _required(plan)
        rule = str(because.context["rule"])
        if made.tenant is not None:
            tenants.lock(connection, made.tenant)
        _check(connection, made, rule, require)
        if wanted.plan is not None and wanted.plan != made.digest:
            # What moved since is told only of a plan that the caller may see.
            plans.show(connection, wanted.plan, plans.Sight(change.caller.visible("plan.read"), PROVIDERS))
        submission = Submission(
            because.actor,
            because.reason,
            None,
            reviewed=wanted.plan,
            by_provider=_is_provider(rule),
            context=because.context,
        )
        with _discreetly(connection, change.caller):
            operation = submit_within(connection, made, submission).operation
        return Done(accepted(connection, operation, change.caller.attribution()), operation, operation=operation)

    return change.carry_out(on, act)


def _is_provider(rule: str) -> bool:
    """A role at the provider let the change through."""
    return rule.startswith("provider:")


def _check(connection: Connection, plan: Plan, rule: str, require: Requirement) -> None:
    """The tenant exists, and has room for one more open operation of its own; the provider's work counts for none."""
    if plan.tenant is not None:
        tenants.find(connection, plan.tenant)
        if not _is_provider(rule):
            quotas.require_room(connection, plan.tenant, "open_operations")
    require(connection, plan)


def look(change: Change, nodeset: str) -> Target:
    """Policy comes first: the names of 10,000 nodes are not made for a caller who may do this to none."""
    change.require_anywhere()
    caller, names = change.caller, parse_names(change.caller, nodeset)
    if not names:
        raise InvalidRequest(f'the nodeset "{nodeset[:200]}" names no nodes; name at least one', nodes=nodeset[:200])
    with caller.database.read() as connection:
        by_name = nodes.named(connection, caller.visible("node.read"), names)
    distinct: Mapping[str, RowMapping] = {row["xname"]: row for row in by_name.values()}
    return Target(sorted(distinct.values(), key=lambda row: nodes.place_of(row["xname"])), names - by_name.keys())


def _planned(caller: Caller, target: Target, tenant: str | None, planner: Planner) -> Plan | CantonError:
    """Why there is no plan is said only once policy has decided, and not at all to a request that is a repetition."""
    if target.missing:
        return nodes.unknown(target.missing)
    try:
        return planner(_seen(target.found), tenant)
    except WrongState as error:
        with caller.database.read() as connection:
            return with_holders(connection, caller, target.found, error)
    except CantonError as error:
        return error


def with_holders(connection: Connection, caller: Caller, rows: Sequence[RowMapping], error: WrongState) -> WrongState:
    """The refusal, with the operations that keep nodes between two states, as far as the caller may see them."""
    between = [row for row in rows if is_transient(NodeState(row["state"])) and row["claimed_by"] is not None]
    if not between:
        return error
    holders = sorted({row["claimed_by"] for row in between})
    visible = sorted(operation_lists.visible_among(connection, caller.visible("operation.read"), holders))
    others = f" and {len(visible) - 1} more" if len(visible) > 1 else ""
    holder = (
        f"held by {visible[0]}{others}; see: canton operation show {visible[0]}"
        if visible
        else "held by an operation that you may not see; wait for it, or ask the provider"
    )
    return WrongState(f"{error.message}; {holder}", cause="", **error.details)


def _required(plan: Plan | CantonError) -> Plan:
    if isinstance(plan, CantonError):
        raise plan
    return plan


def _seen(rows: Sequence[RowMapping]) -> Seen:
    found = [Node(r["xname"], r["nid"], NodeState(r["state"]), r["tenant"], r["version"]) for r in rows]
    power = {row["xname"]: row["power"] for row in rows if row["power"] is not None}
    return Seen(found, power, f"power@{_site(rows)}")


def _site(rows: Sequence[RowMapping]) -> str:
    homeless = [row["xname"] for row in rows if row["site"] is None]
    if homeless:
        raise WrongState(
            f"{fold(homeless)} belongs to no site, so no power service is known for it; import it with its site",
            nodes=fold(homeless),
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
def _discreetly(connection: Connection, caller: Caller) -> Iterator[None]:
    """Who holds a node is told as far as the caller may see it: the purpose of a foreign operation names its nodes."""
    try:
        yield
    except NodesClaimed as error:
        claims = cast("Sequence[Mapping[str, str]]", error.details["claims"])
        holders = {claim["operation"] for claim in claims}
        if operation_lists.visible_among(connection, caller.visible("operation.read"), sorted(holders)) == holders:
            raise
        held = fold(claim["node"] for claim in claims)
        raise NodesClaimed(
            f"{held} held by an operation that you may not see; wait for it, or ask the provider", nodes=held
        ) from error


def _show(caller: Caller, plan: Plan) -> Response:
    submit.dry_run(caller.database, plan)
    with caller.database.read() as connection:
        row = plans.show(connection, plan.digest, plans.Sight(None, PROVIDERS))
    return json_response(render_plan(row))
