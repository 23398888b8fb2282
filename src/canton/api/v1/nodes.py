"""Nodes: list, show, power on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import RowMapping

from canton.api.auth.caller import CallerDep
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, change
from canton.api.mutations.node_operations import (
    MAX_NODES,
    NODESET_PATTERN,
    PLANNED,
    DryRun,
    NodeRequest,
    parse_names,
    plan_or_start,
)
from canton.api.rendering import timestamps as instants
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, answers
from canton.api.rendering.operations import Operation
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import object_response
from canton.api.services import Services
from canton.domain.json_types import Json
from canton.domain.lifecycle import NodeState, must_have_tenant
from canton.domain.tenant import NAME
from canton.operations.planners.node_lifecycle import ACTIONS
from canton.operations.planners.power_nodes import plan_power
from canton.store.database import SECOND
from canton.store.inventory import nodes

router = APIRouter(tags=["nodes"], route_class=Route)
NONE = "-"
STALE_AFTER = 3
"""The power of a node is stale after this many intervals without a reading."""
WITH_TENANT = frozenset(state for state in NodeState if must_have_tenant(state))
Power = Literal["on", "off", "unknown"]


class Node(Body):
    """One compute node: its state in Canton, and its power as last read from the site."""

    xname: str
    nid: int | None
    site: str | None
    state: NodeState
    tenant: str | None
    separation: Annotated[
        Literal["unproven"] | None,
        Field(description="For a node of a tenant: whether its separation is proved. Nothing is proved yet."),
    ]
    power: Power | None
    seen_at: Instant | None
    stale: Annotated[
        bool, Field(description="Its power was not read for three times `worker.power_interval`, or never.")
    ]
    version: int
    changed_at: Instant
    claimed_by: Annotated[str | None, Field(description="The open operation that holds the node.")]


class PowerRequest(NodeRequest):
    to: Literal["on", "off"]


def renderer(services: Services) -> Callable[[RowMapping], dict[str, Json]]:
    """A function that renders the rows of one answer, fast enough for lists of a thousand."""
    text = instants.writer()
    fresh_since = services.clock() - int(STALE_AFTER * services.settings.worker.power_interval * SECOND)

    def render(row: RowMapping) -> dict[str, Json]:
        seen_at = row["seen_at"]
        return {
            "xname": row["xname"],
            "nid": row["nid"],
            "site": row["site"],
            "state": row["state"],
            "tenant": row["tenant"],
            "separation": "unproven" if row["state"] in WITH_TENANT else None,
            "power": row["power"],
            "seen_at": None if seen_at is None else text(seen_at),
            "stale": seen_at is None or seen_at < fresh_since,
            "version": row["version"],
            "changed_at": text(row["changed_at"]),
            "claimed_by": row["claimed_by"],
        }

    return render


def _node_filter(
    caller: CallerDep,
    site: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    tenant: Annotated[
        str | None, Query(pattern=f"^({NONE}|{NAME.pattern})$", description="`-`: nodes without a tenant.")
    ] = None,
    state: NodeState | None = None,
    power: Annotated[Power | None, Query(description="The power as last read.")] = None,
    nodeset: Annotated[
        str | None,
        Query(
            pattern=NODESET_PATTERN,
            max_length=20_000,
            description=f"Only nodes of this nodeset, of at most {MAX_NODES:,} nodes.",
            examples=["x1000c0s[0-3]b0n0"],
        ),
    ] = None,
) -> nodes.NodeFilter:
    if nodeset is None:
        names = None
    else:
        # The nodeset of a caller who may see no node is not expanded.
        names = frozenset[str]() if caller.visible("node.read") == frozenset() else parse_names(caller, nodeset)
    return nodes.NodeFilter(site, None if tenant == NONE else tenant, tenant == NONE, state, power, names)


@router.get("/nodes", responses=answers(Items[Node]))
def list_nodes(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(nodes.SORTS), tuple(Node.model_fields))],
    node_filter: Annotated[nodes.NodeFilter, Depends(_node_filter)],
) -> Response:
    """The nodes that the caller may see. Sorting by `xname` compares its numbers: s9 comes before s10."""
    with caller.database.read() as connection:
        list_page = nodes.page(connection, caller.visible("node.read"), node_filter, page.window)
    return page.answer(list_page, renderer(caller.services))


def refuse_to_read() -> Response:
    """GET on the path of a verb is 405, and not a node of that name."""
    raise HTTPException(405, headers={"Allow": "POST"})


for verb in ("import", "power", "delete", *ACTIONS):
    router.get(f"/nodes/{verb}", include_in_schema=False)(refuse_to_read)


@router.get("/nodes/{xname}", responses=answers(Node, tagged=True))
def show_node(
    request: Request,
    caller: CallerDep,
    xname: Annotated[str, Path(pattern="^[a-z0-9]{1,64}$", description="Its xname.", examples=["x1000c0s0b0n0"])],
) -> Response:
    """One node. The entity tag changes with its state and tenant, but not with its power."""
    with caller.database.read() as connection:
        row = nodes.show(connection, xname, caller.visible("node.read"))
    return object_response(request, renderer(caller.services)(row), row["version"])


@router.post("/nodes/power", status_code=202, responses=PLANNED | answers(Operation, 202, change=True))
def power_nodes(
    power_request: PowerRequest, change: Annotated[Change, change("node.power")], dry_run: DryRun = False
) -> Response:
    """Power nodes on or off; nodes that are already in that state are left alone."""
    return plan_or_start(
        change, power_request, lambda snapshot, tenant: plan_power(snapshot, power_request.to, tenant), dry_run=dry_run
    )
