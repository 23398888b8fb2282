"""A node's whole life by the provider's commands, with a worker: the answer and the effects of each command."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from api.conftest import Api, Reply
from api.test_nodes import fill, member, xname
from api.test_service_accounts import account, speaking_for
from canton.domain.lifecycle import RESTING, NodeState, must_have_tenant
from canton.domain.node import Node
from canton.domain.tenant import Quota
from canton.drivers.demo.power import FolderPower
from canton.operations.kinds.set_power import SetPower
from canton.store import schema
from canton.store.access import quotas, tenants
from canton.store.inventory import nodes, sites
from devices import QUICK, rested, working

# How a provider leads a node on from each state that it can rest in.
WAYS_ON: dict[NodeState, list[tuple[str, dict[str, Any], str | None]]] = {
    NodeState.DISCOVERED: [("enroll", {"sanitised_by_hand": True}, "free"), ("maintenance", {}, "maintenance")],
    NodeState.FREE: [("assign", {"tenant": "psi"}, "assigned"), ("maintenance", {}, "maintenance")],
    NodeState.ASSIGNED: [("release", {}, "quarantined")],
    NodeState.QUARANTINED: [("enroll", {"sanitised_by_hand": True}, "free"), ("maintenance", {}, "maintenance")],
    NodeState.MAINTENANCE: [("enroll", {"sanitised_by_hand": True}, "free"), ("retire", {}, "retired")],
    NodeState.RETIRED: [("delete", {}, None)],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The power of the nodes 0 to 3, all on."""
    place = tmp_path / "power"
    place.mkdir()
    for n in range(4):
        (place / xname(n)).write_text("on")
    return place


def work(api: Api, folder: Path, *operations: str) -> None:
    """A worker drives these operations until they rest."""

    async def drive() -> None:
        kind = SetPower({"power@alps": FolderPower(folder)}, QUICK)
        async with working(api.services.database, kind):
            await rested(api.services.database, *operations)

    asyncio.run(drive())


def ordered(api: Api, folder: Path, verb: str, n: int = 0, **fields: Any) -> Reply:
    """The operation once it rests; for a change without an operation, the answer."""
    reply = api.post(f"/v1/nodes/{verb}", {"nodes": xname(n), **fields}, f"{verb} it")
    if reply.status != 202:
        return reply
    work(api, folder, reply.json["id"])
    return api.get(f"/v1/operations/{reply.json['id']}")


def put(api: Api, state: NodeState, n: int = 0) -> None:
    with api.services.database.write() as connection:
        sites.create(connection, "alps", "")
        tenants.create(connection, "psi", "")
        nodes.add(connection, [Node(xname(n), n, state, "psi" if must_have_tenant(state) else None, 1)], "alps")


def state_of(api: Api, n: int = 0) -> tuple[str, str | None, str | None]:
    node = api.get(f"/v1/nodes/{xname(n)}").json
    return node["state"], node["tenant"], node["separation"]


def test_no_state_that_a_node_can_rest_in_is_a_dead_end() -> None:
    assert WAYS_ON.keys() == set(RESTING)


@pytest.mark.parametrize(
    ("state", "verb", "fields", "end"), [(state, *way) for state, ways in WAYS_ON.items() for way in ways]
)
def test_from_every_state_a_command_leads_on(
    admin: Api, folder: Path, state: NodeState, verb: str, fields: dict[str, Any], end: str | None
) -> None:
    put(admin, state)
    planned = admin.post(f"/v1/nodes/{verb}?dry_run=true", {"nodes": xname(0), **fields}, reason=None)
    assert (planned.status, state_of(admin)[0]) == (200, state)
    assert admin.post(f"/v1/nodes/{verb}", {"nodes": xname(0), **fields}, reason=None).code == "reason-required"
    reply = ordered(admin, folder, verb, **fields)
    if end is None:
        assert (reply.status, reply.json) == (200, {"nodes": xname(0), "count": 1})
        assert admin.get(f"/v1/nodes/{xname(0)}").status == 404
    else:
        assert (reply.json["state"], reply.json["plan"]) == ("done", planned.json["digest"])
        assert state_of(admin)[0] == end
    recorded = {record["action"] for record in admin.get("/v1/audit").json["items"] if record["reason"] == f"{verb} it"}
    happened = {record["kind"] for record in admin.get("/v1/events?after=start").json["items"]}
    assert (recorded, happened) == (
        ({"node.delete"}, {"node.deleted"})
        if end is None
        else ({"operation.queued", "operation.done"}, happened | {"operation.queued", "operation.done"})
    )


def test_a_node_lives_from_import_to_deletion(admin: Api, folder: Path) -> None:
    put(admin, NodeState.DISCOVERED, 3)
    admin.post("/v1/nodes/import", {"site": "alps", "nodes": [{"xname": xname(0), "nid": 0}]})
    assert state_of(admin) == ("discovered", None, None)
    for verb, fields, end in (
        ("enroll", {"sanitised_by_hand": True}, ("free", None, None)),
        ("assign", {"tenant": "psi"}, ("assigned", "psi", "unproven")),
        ("release", {}, ("quarantined", None, None)),
        ("maintenance", {}, ("maintenance", None, None)),
        ("enroll", {"sanitised_by_hand": True}, ("free", None, None)),
        ("maintenance", {}, ("maintenance", None, None)),
        ("retire", {}, ("retired", None, None)),
    ):
        assert ordered(admin, folder, verb, **fields).json["state"] == "done"
        assert state_of(admin) == end
        assert (folder / xname(0)).read_text() == "off"
    assert ordered(admin, folder, "delete").status == 200
    assert [node["xname"] for node in admin.get("/v1/nodes").json["items"]] == [xname(3)]


def test_lists_show_the_power_that_a_step_observed(admin: Api, folder: Path) -> None:
    put(admin, NodeState.FREE)
    assert admin.get(f"/v1/nodes/{xname(0)}").json["power"] is None
    assert ordered(admin, folder, "power", to="off").json["state"] == "done"
    node = admin.get(f"/v1/nodes/{xname(0)}").json
    assert (node["power"], node["stale"]) == ("off", False)
    assert [row["power"] for row in admin.get("/v1/nodes?power=off").json["items"]] == ["off"]


def test_a_node_becomes_free_only_when_the_caller_vouches_for_it(admin: Api) -> None:
    put(admin, NodeState.QUARANTINED)
    for fields in ({}, {"sanitised_by_hand": False}):
        refusal = admin.post("/v1/nodes/enroll", {"nodes": xname(0), **fields})
        assert (refusal.status, state_of(admin)[0]) == (400, "quarantined")


def test_a_release_that_cannot_power_off_ends_in_quarantine_when_it_is_given_up(admin: Api, folder: Path) -> None:
    """The tenant lost the node when the release began; no end of the operation gives it back or counts it as clean."""
    put(admin, NodeState.ASSIGNED)
    (folder / xname(0)).unlink()
    stuck = ordered(admin, folder, "release").json
    assert (stuck["state"], stuck["tenant"], state_of(admin)[0]) == ("needs_attention", "psi", "leaving")
    refusal = member(admin, "psi").post(f"/v1/operations/{stuck['id']}/abandon")
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "by-provider")
    assert admin.post(f"/v1/operations/{stuck['id']}/abandon").status == 202
    assert state_of(admin) == ("quarantined", None, None)


def test_a_node_whose_controller_is_dead_can_still_be_retired(admin: Api, folder: Path) -> None:
    put(admin, NodeState.DISCOVERED)
    (folder / xname(0)).unlink()
    assert ordered(admin, folder, "maintenance", power="unchanged").json["state"] == "done"
    assert ordered(admin, folder, "retire").json["state"] == "done"
    assert ordered(admin, folder, "delete").status == 200


def test_an_assignment_keeps_to_the_quota_and_says_so_in_a_dry_run(admin: Api) -> None:
    fill(admin, {"psi": range(1), None: range(1, 4)})
    with admin.services.database.write() as connection:
        quotas.put(connection, "psi", Quota(nodes=2), None)
    body = {"nodes": "x1000c0s[1-2]b0n0", "tenant": "psi"}
    for suffix in ("?dry_run=true", ""):
        refusal = admin.post(f"/v1/nodes/assign{suffix}", body)
        assert (refusal.status, refusal.code) == (409, "quota-exceeded")
        assert admin.post(f"/v1/nodes/assign{suffix}", {**body, "tenant": "absent"}).code == "unknown-tenant"
    assert admin.post("/v1/nodes/assign", {"nodes": xname(1), "tenant": "psi"}).status == 202
    assert state_of(admin, 1) == ("joining", "psi", "unproven")
    assert admin.post("/v1/nodes/assign", {"nodes": xname(2), "tenant": "psi"}).code == "quota-exceeded"


def test_only_a_retired_node_that_nothing_holds_is_deleted(admin: Api) -> None:
    fill(admin, {None: range(2)})
    wrong = admin.post("/v1/nodes/delete", {"nodes": xname(0)})
    assert (wrong.status, wrong.code, wrong.json["details"]["states"]) == (409, "wrong-state", ["free"])
    with admin.services.database.write() as connection:
        nodes.put(connection, xname(0), NodeState.RETIRED, None)
    assert admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "off"}).status == 202
    assert admin.post("/v1/nodes/delete", {"nodes": xname(0)}).code == "nodes-claimed"
    assert admin.post("/v1/nodes/delete", {"nodes": f"{xname(0)},{xname(9)}"}).code == "unknown-nodes"


@pytest.mark.parametrize("verb", ["assign", "retire", "delete"])
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_an_operation_that_keeps_a_node_between_states_is_named(admin: Api, verb: str, query: str) -> None:
    put(admin, NodeState.DISCOVERED)
    holder = admin.post("/v1/nodes/enroll", {"nodes": xname(0), "sanitised_by_hand": True}, "new").json["id"]
    assert state_of(admin)[0] == "cleaning"
    fields = {"tenant": "psi"} if verb == "assign" else {}
    refusal = admin.post(f"/v1/nodes/{verb}{query}", {"nodes": xname(0), **fields}, "in a hurry")
    assert (refusal.status, refusal.code) == (409, "wrong-state")
    assert refusal.json["detail"].endswith(f"; held by {holder}; see: canton operation show {holder}")


def test_an_operation_that_is_not_the_callers_to_see_is_not_named(admin: Api) -> None:
    put(admin, NodeState.DISCOVERED)
    holder = admin.post("/v1/nodes/enroll", {"nodes": xname(0), "sanitised_by_hand": True}, "new").json["id"]
    robot = speaking_for(admin, account(admin, None, ["node.read", "node.retire"]))
    refusal = robot.post("/v1/nodes/retire", {"nodes": xname(0)}, "in a hurry")
    assert refusal.code == "wrong-state"
    assert "held by an operation that you may not see" in refusal.json["detail"]
    assert holder not in refusal.text


@pytest.mark.parametrize(
    ("state", "verb", "fields"),
    [
        (NodeState.ASSIGNED, "release", {}),
        (NodeState.FREE, "assign", {"tenant": "psi"}),
        (NodeState.QUARANTINED, "enroll", {"sanitised_by_hand": True}),
    ],
)
def test_an_order_between_two_owners_is_not_cancelled_and_leaves_its_node_off(
    admin: Api, folder: Path, state: NodeState, verb: str, fields: dict[str, Any]
) -> None:
    put(admin, state)
    operation = admin.post(f"/v1/nodes/{verb}", {"nodes": xname(0), **fields}).json["id"]
    refusal = admin.post(f"/v1/operations/{operation}/cancel")
    assert (refusal.status, refusal.code) == (409, "wrong-state")
    assert "retry or abandon" in refusal.json["detail"]
    work(admin, folder, operation)
    assert (folder / xname(0)).read_text() == "off"
    assert admin.get(f"/v1/operations/{operation}").json["state"] == "done"


def test_a_tenant_is_not_told_the_host_of_a_worker(admin: Api) -> None:
    put(admin, NodeState.ASSIGNED)
    operation = admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "off"}).json["id"]
    with admin.services.database.write() as connection:
        connection.execute(sa.update(schema.operation).values(worker="ctl7.example-4711-1"))
    for api, worker in ((admin, "ctl7.example-4711-1"), (member(admin, "psi"), None)):
        assert api.get(f"/v1/operations/{operation}").json["worker"] == worker
        assert [row["worker"] for row in api.get("/v1/operations").json["items"]] == [worker]
        retried = api.post(f"/v1/operations/{operation}/cancel")
        assert retried.status == 403 or retried.json["worker"] == worker
