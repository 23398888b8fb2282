"""Nodes through the API: lists, details, power, maintenance; and what is hidden from a tenant's members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.conftest import Api
from canton.api.rendering import timestamps as instants
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.domain.tenant import Quota
from canton.domain.timestamps import to_text
from canton.operations.submit import Submission, submit
from canton.store.access import quotas, tenants
from canton.store.inventory import nodes, sites
from devices import plan_of, set_value


def xname(n: int) -> str:
    return f"x1000c0s{n}b0n0"


def fill(api: Api, owners: Mapping[str | None, range], site: str | None = "alps") -> None:
    """Nodes of these numbers for these tenants; None is a free node."""
    with api.services.database.write() as connection:
        if site is not None:
            sites.create(connection, site, "")
        for owner, numbers in owners.items():
            if owner is not None and tenants.state(connection, owner) is None:
                tenants.create(connection, owner, "")
            state = NodeState.FREE if owner is None else NodeState.ASSIGNED
            nodes.add(connection, [Node(xname(n), n, state, owner, 1) for n in numbers], site)


def listed(api: Api, query: str = "") -> list[str]:
    return [node["xname"] for node in api.get(f"/v1/nodes{query}").json["items"]]


def member(api: Api, *tenants: str) -> Api:
    return api.as_("ann", *(f"canton-tenant-operator:{tenant}" for tenant in tenants))


def actions(api: Api) -> list[tuple[str, str, str | None]]:
    records = api.get("/v1/audit").json["items"]
    return [(record["action"], record["details"].get("outcome"), record["tenant"]) for record in records]


def test_a_node_is_shown_with_what_was_decided_and_what_was_seen(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    with admin.services.database.write() as connection:
        nodes.observe(connection, {xname(0): "on"})
    reply = admin.get(f"/v1/nodes/{xname(0)}")
    assert {**reply.json, "seen_at": "…", "changed_at": "…"} == {
        "xname": xname(0),
        "nid": 0,
        "site": "alps",
        "state": "assigned",
        "tenant": "psi",
        "separation": "unproven",
        "power": "on",
        "seen_at": "…",
        "stale": False,
        "version": 1,
        "changed_at": "…",
        "claimed_by": None,
    }
    assert admin.get(f"/v1/nodes/{xname(0)}", If_None_Match=reply.headers["etag"]).status == 304
    assert admin.get("/v1/nodes").json["items"] == [reply.json]


def test_an_old_observation_is_stale(admin: Api) -> None:
    fill(admin, {None: range(3)})
    now, interval = admin.services.clock(), int(30 * 1e6)
    with admin.services.database.write() as connection:
        nodes.observe_at(connection, {xname(0): "on"}, now - 2 * interval)
        nodes.observe_at(connection, {xname(1): "on"}, now - 4 * interval)
    listing = admin.get("/v1/nodes").json["items"]
    assert [(node["power"], node["stale"]) for node in listing] == [("on", False), ("on", True), (None, True)]


def test_lists_are_in_natural_order_and_pages_follow_each_other(admin: Api) -> None:
    fill(admin, {None: range(12)})
    everything = [xname(n) for n in range(12)]
    for sort, expected in (("xname", everything), ("-xname", everything[::-1])):
        names: list[str] = []
        query: str | None = ""
        while query is not None:
            page = admin.get(f"/v1/nodes?limit=5&sort={sort}&fields=xname{query}").json
            names += [node["xname"] for node in page["items"]]
            query = f"&after={page['next']}" if page["next"] else None
        assert names == expected
    assert sorted(listed(admin, "?sort=changed_at")) == sorted(everything)


def test_filters(admin: Api) -> None:
    fill(admin, {"psi": range(2), "cscs": range(2, 3), None: range(3, 5)})
    with admin.services.database.write() as connection:
        sites.create(connection, "bern", "")
        nodes.add(connection, [Node(xname(9), 9, NodeState.DISCOVERED, None, 1)], "bern")
        nodes.observe(connection, {xname(3): "off"})
    for query, expected in (
        ("?tenant=psi", [0, 1]),
        ("?tenant=-", [3, 4, 9]),
        ("?tenant=none", []),
        ("?site=bern", [9]),
        ("?state=discovered", [9]),
        ("?power=off", [3]),
        ("?power=on", []),
        (f"?nodeset={quote('x1000c0s[1-3]b0n0,nid000004,nid9,x9c0s0b0n0,nid77')}", [1, 2, 3, 4, 9]),
        ("?tenant=-&site=alps", [3, 4]),
    ):
        assert listed(admin, query) == [xname(n) for n in expected], query


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("nodeset=x[", "invalid-nodeset"),
        ("nodeset=x[0-99999]", "nodeset-too-large"),
        ("nodeset=%00", "invalid-request"),
        ("tenant=%00", "invalid-request"),
        ("state=asleep", "invalid-request"),
        ("power=maybe", "invalid-request"),
        ("sort=nid", "invalid-request"),
        ("fields=secret", "invalid-request"),
        ("after=zzz", "invalid-cursor"),
    ],
)
def test_a_wrong_query_is_refused(admin: Api, query: str, code: str) -> None:
    refusal = admin.get(f"/v1/nodes?{quote(query, safe='=%')}")
    assert (refusal.status, refusal.code) == (400, code)


def test_members_see_their_own_and_a_foreign_node_answers_as_an_absent_one(admin: Api) -> None:
    fill(admin, {"psi": range(2), "cscs": range(2, 4), None: range(4, 6)})
    ann = member(admin, "psi")
    assert listed(ann) == [xname(0), xname(1)]
    assert listed(ann, "?tenant=cscs") == listed(ann, "?tenant=-") == listed(ann, "?tenant=none") == []
    assert listed(ann, f"?nodeset={quote('x1000c0s[0-5]b0n0')}") == [xname(0), xname(1)]
    assert listed(admin.as_("eve")) == []
    for foreign in (2, 4):
        assert same(ann.get(f"/v1/nodes/{xname(foreign)}").json, foreign) == same(
            ann.get(f"/v1/nodes/{xname(7)}").json, 7
        )


def same(problem: dict[str, Any], n: int) -> str:
    """A problem without the caller's own input."""
    plain = {key: value for key, value in problem.items() if key != "request"}
    return str(plain).replace(xname(n), "…").replace(f"nid00000{n}", "…")


@pytest.mark.parametrize("verb", ["import", "power", "enroll", "assign", "release", "maintenance", "retire", "delete"])
def test_a_verb_is_no_node(admin: Api, verb: str) -> None:
    refusal = admin.get(f"/v1/nodes/{verb}")
    assert (refusal.status, refusal.headers["allow"]) == (405, "POST")


def test_power_is_an_operation_that_claims_the_nodes(admin: Api) -> None:
    fill(admin, {"psi": range(3)})
    ann = member(admin, "psi")
    reply = ann.post("/v1/nodes/power", {"nodes": "x1000c0s[0-1]b0n0,nid000001", "to": "on"}, "after the flood")
    assert reply.status == 202
    assert reply.headers["location"] == f"/v1/operations/{reply.json['id']}"
    assert reply.json["summary"] == "power on x1000c0s[0-1]b0n0"
    assert (reply.json["tenant"], reply.json["actor"], reply.json["reason"]) == ("psi", "test:ann", "after the flood")
    assert reply.json["steps"] == {"total": 2, "done": 0, "failed": 0, "under_way": 0, "pending": 2}
    assert ann.get(reply.headers["location"]).json == reply.json
    assert ann.get(f"/v1/nodes/{xname(0)}").json["claimed_by"] == reply.json["id"]
    assert admin.get(f"/v1/plans/{reply.json['plan']}").json["steps"][0]["device"] == "power@alps"
    queued, *_ = admin.get("/v1/audit").json["items"]
    assert (queued["action"], queued["subject"], queued["tenant"]) == ("operation.queued", reply.json["id"], "psi")
    assert (queued["details"]["permission"], queued["details"]["rule"]) == ("node.power", "tenant:tenant-operator")


def test_the_same_key_gives_the_same_operation(admin: Api) -> None:
    fill(admin, {None: range(1)})
    body = {"nodes": xname(0)}
    first = admin.post("/v1/nodes/maintenance", body, Idempotency_Key="k")
    with admin.services.database.write() as connection:
        nodes.put(connection, xname(0), NodeState.MAINTENANCE, None)  # what the operation ends with
    repeated = admin.post("/v1/nodes/maintenance", body, Idempotency_Key="k")
    assert (first.status, repeated.status, repeated.json) == (202, 202, first.json)
    assert admin.post("/v1/nodes/maintenance", body).code == "wrong-state"


@pytest.mark.parametrize("query", ["dry_run=true&dry_run=false", "dry_run=false&dry_run=false", "dryrun=true", "to=on"])
def test_an_order_takes_one_dry_run_and_no_other_parameter(admin: Api, query: str) -> None:
    """Of two that contradict each other the last would count; one that is misspelt would be carried out."""
    fill(admin, {"psi": range(1)})
    refusal = admin.post(f"/v1/nodes/power?{query}", {"nodes": xname(0), "to": "on"})
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    assert admin.get("/v1/operations").json["items"] == []


def test_a_dry_run_keeps_the_plan_and_changes_nothing(admin: Api) -> None:
    fill(admin, {"psi": range(2)})
    actions_before = actions(admin)
    ann = member(admin, "psi")
    planned = ann.post("/v1/nodes/power?dry_run=true", {"nodes": xname(0), "to": "on"})
    assert planned.status == 200
    assert ann.get(f"/v1/plans/{planned.json['digest']}").json == planned.json
    assert (actions(admin), ann.get("/v1/operations").json["items"]) == (actions_before, [])
    reply = ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on", "plan": planned.json["digest"]})
    assert (reply.status, reply.json["plan"]) == (202, planned.json["digest"])


def test_a_plan_that_moved_is_not_carried_out(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    ann = member(admin, "psi")
    digest = ann.post("/v1/nodes/power?dry_run=true", {"nodes": xname(0), "to": "on"}).json["digest"]
    with admin.services.database.write() as connection:
        nodes.put(connection, xname(0), NodeState.ASSIGNED, "psi")
    moved = ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on", "plan": digest})
    assert (moved.status, moved.code) == (409, "plan-moved")
    assert moved.json["details"]["moved"] == [f"node:{xname(0)} went from version 1 to 2"]


def test_a_foreign_plan_is_answered_as_an_absent_one(admin: Api) -> None:
    fill(admin, {"psi": range(1), "cscs": range(1, 2)})
    foreign = admin.post("/v1/nodes/power?dry_run=true", {"nodes": xname(1), "to": "on"}).json["digest"]
    absent = "sha256:" + "0" * 64
    replies = [
        member(admin, "psi").post("/v1/nodes/power", {"nodes": xname(0), "to": "on", "plan": digest}).text
        for digest in (foreign, absent)
    ]
    assert replies[0].replace(foreign, "…") == replies[1].replace(absent, "…")
    assert "unknown-plan" in replies[0]


@pytest.mark.parametrize("nodeset", [f"{xname(0)},{xname(2)}", "nid000000,nid000002", xname(2), xname(4), "nid000004"])
def test_foreign_nodes_are_unknown_nodes(admin: Api, nodeset: str) -> None:
    """A tenant cannot tell another tenant's node from a free or an absent one, alone or beside its own."""
    fill(admin, {"psi": range(2), "cscs": range(2, 4), None: range(4, 6)})
    ann = member(admin, "psi")
    foreign = 4 if "4" in nodeset else 2
    for suffix in ("", "?dry_run=true"):
        refusal = ann.post(f"/v1/nodes/power{suffix}", {"nodes": nodeset, "to": "off"})
        absent = ann.post(f"/v1/nodes/power{suffix}", {"nodes": nodeset.replace(str(foreign), "7"), "to": "off"})
        assert (refusal.status, refusal.code) == (404, "unknown-nodes")
        assert same(refusal.json, foreign) == same(absent.json, 7)
        assert xname(0) not in refusal.text
    assert actions(admin)[0] == ("node.power", "refused", None)


@pytest.mark.parametrize("suffix", ["power", "power?dry_run=true", "delete"])
def test_a_short_request_for_unknown_nodes_has_a_short_answer(admin: Api, suffix: str) -> None:
    """Every second of 10,000 numbers: they do not fold, and each has 250 digits."""
    nodeset = f"n[1{'0' * 245}0000-1{'0' * 245}9999/2]"
    refusal = admin.post(f"/v1/nodes/{suffix}", {"nodes": nodeset} | ({"to": "on"} if "power" in suffix else {}))
    assert (refusal.status, refusal.code) == (404, "unknown-nodes")
    assert refusal.json["details"]["nodes"].startswith(f"n[1{'0' * 245}0000,")
    assert len(refusal.text) < 4_000


@pytest.mark.parametrize("expression", ["x1000c0s5b0n0", "x9000c0s5b0n0", "nid000005"])
def test_a_node_without_a_number_does_not_answer_to_another_name(admin: Api, expression: str) -> None:
    fill(admin, {"psi": range(1), "cscs": range(5, 6)})
    with admin.services.database.write() as connection:
        nodes.add(connection, [Node(xname(1), None, NodeState.ASSIGNED, "psi", 1)], "alps")
    refusal = member(admin, "psi").post("/v1/nodes/power", {"nodes": f"{xname(1)},{expression}", "to": "on"})
    assert (refusal.status, refusal.code, refusal.json["details"]) == (404, "unknown-nodes", {"nodes": expression})


def test_nodes_of_several_tenants_at_once_are_the_providers_matter(admin: Api) -> None:
    fill(admin, {"psi": range(1), "cscs": range(1, 2), None: range(2, 3)})
    body = {"nodes": "x1000c0s[0-1]b0n0", "to": "off"}
    refusal = member(admin, "psi", "cscs").post("/v1/nodes/power", body)
    assert (refusal.status, refusal.json["details"]["tenant"]) == (403, None)
    both = admin.post("/v1/nodes/power", body)
    assert (both.status, both.json["tenant"]) == (202, None)
    free = admin.post("/v1/nodes/power", {"nodes": xname(2), "to": "off"})
    assert (free.status, free.json["tenant"]) == (202, None)


def test_a_caller_who_sees_but_may_not_change_reads_the_rule(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    viewer = admin.as_("vic", "canton-tenant-viewer:psi")
    for suffix in ("", "?dry_run=true"):
        refusal = viewer.post(f"/v1/nodes/power{suffix}", {"nodes": xname(0), "to": "off"})
        assert (refusal.status, refusal.json["details"]) == (
            403,
            # Policy is asked before the nodes are looked for, so it is not known yet whose they are.
            {"permission": "node.power", "rule": "not-granted", "tenant": None},
        )
    aside = member(admin, "psi").post("/v1/nodes/maintenance", {"nodes": xname(0)})
    assert (aside.status, aside.json["details"]["permission"]) == (403, "node.maintenance")


def test_a_suspended_tenants_members_switch_nothing(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    admin.post("/v1/tenants/psi/suspend")
    for suffix in ("", "?dry_run=true"):
        refusal = member(admin, "psi").post(f"/v1/nodes/power{suffix}", {"nodes": xname(0), "to": "off"})
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "tenant-suspended")
    assert admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "off"}).status == 202


def test_the_quota_of_open_operations_holds(admin: Api) -> None:
    fill(admin, {"psi": range(2)})
    with admin.services.database.write() as connection:
        quotas.put(connection, "psi", Quota(open_operations=1), None)
    ann = member(admin, "psi")
    assert ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}).status == 202
    refusal = ann.post("/v1/nodes/power", {"nodes": xname(1), "to": "on"})
    assert (refusal.status, refusal.code) == (409, "quota-exceeded")
    assert len(ann.get("/v1/operations").json["items"]) == 1


def test_the_providers_work_neither_counts_for_the_quota_nor_is_stopped_by_it(admin: Api) -> None:
    fill(admin, {"psi": range(3)})
    with admin.services.database.write() as connection:
        quotas.put(connection, "psi", Quota(open_operations=1), None)
    ann = member(admin, "psi")
    assert admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "off"}).json["tenant"] == "psi"
    assert admin.get("/v1/tenants/psi/quota").json["used"]["open_operations"] == 0
    assert ann.post("/v1/nodes/power", {"nodes": xname(1), "to": "on"}).status == 202
    assert admin.post("/v1/nodes/power", {"nodes": xname(2), "to": "off"}).status == 202
    deletion = admin.call("DELETE", "/v1/tenants/psi", reason="a test")
    assert deletion.json["details"]["open_operations"] == 3


def test_a_dry_run_is_refused_where_the_quota_would_refuse_the_real_one(admin: Api) -> None:
    fill(admin, {"psi": range(2)})
    with admin.services.database.write() as connection:
        quotas.put(connection, "psi", Quota(open_operations=0), None)
    refusal = member(admin, "psi").post("/v1/nodes/power?dry_run=true", {"nodes": xname(0), "to": "on"})
    assert (refusal.status, refusal.code) == (409, "quota-exceeded")


def test_a_node_without_a_site_and_nodes_of_two_sites_are_refused(admin: Api) -> None:
    fill(admin, {None: range(1)})
    fill(admin, {None: range(1, 2)}, "bern")
    fill(admin, {None: range(2, 3)}, None)
    two = "2 sites (alps, bern); name those of one site at a time, such as @TENANT/alps, or select them by site=alps"
    for numbers, words in (([2], "belongs to no site"), ([0, 1], two)):
        refusal = admin.post("/v1/nodes/power", {"nodes": ",".join(map(xname, numbers)), "to": "on"})
        assert (refusal.status, refusal.code) == (409, "wrong-state")
        assert words in refusal.json["detail"]


def test_a_claimed_node_names_the_operation_to_callers_who_may_see_it(admin: Api) -> None:
    """The purpose of the provider's own names nodes of other tenants."""
    fill(admin, {"psi": range(1), "cscs": range(1, 2)})
    holder = admin.post("/v1/nodes/power", {"nodes": "x1000c0s[0-1]b0n0", "to": "off"}).json["id"]
    reply = admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"})
    assert (reply.status, reply.code) == (409, "nodes-claimed")
    assert holder in reply.text
    refusal = member(admin, "psi").post("/v1/nodes/power", {"nodes": xname(0), "to": "on"})
    assert (refusal.status, refusal.code) == (409, "nodes-claimed")
    assert refusal.json["details"] == {"nodes": xname(0)}
    assert "[0-1]" not in refusal.text


def test_only_free_nodes_go_into_maintenance_and_with_a_reason(admin: Api) -> None:
    fill(admin, {"psi": range(1), None: range(1, 3)})
    wrong = admin.post("/v1/nodes/maintenance", {"nodes": "x1000c0s[0-1]b0n0"})
    assert (wrong.status, wrong.code, wrong.json["details"]["nodes"]) == (409, "wrong-state", xname(0))
    assert admin.post("/v1/nodes/maintenance", {"nodes": xname(1)}, reason=None).code == "reason-required"
    assert admin.post("/v1/nodes/maintenance?dry_run=true", {"nodes": xname(1)}, reason=None).status == 200
    assert admin.post("/v1/nodes/maintenance", {"nodes": xname(1)}).json["kind"] == "node.maintenance"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"nodes": "", "to": "on"}, "invalid-request"),
        ({"nodes": "x1!x1", "to": "on"}, "invalid-request"),
        ({"nodes": "x[", "to": "on"}, "invalid-nodeset"),
        ({"nodes": "@psi", "to": "on"}, "invalid-nodeset"),
        ({"nodes": "x[0-10000]", "to": "on"}, "nodeset-too-large"),
        ({"nodes": "x1\x00", "to": "on"}, "invalid-request"),
        ({"nodes": "x1\ud800", "to": "on"}, "invalid-request"),
        ({"nodes": "x1", "to": "up"}, "invalid-request"),
        ({"nodes": "x1", "to": "on", "plan": "sha256:1"}, "invalid-request"),
        ({"nodes": "x1", "to": "on", "force": True}, "invalid-request"),
        ({"nodes": ["x1"], "to": "on"}, "invalid-request"),
        ({"nodes": "x1", "to": float("nan")}, "invalid-request"),
    ],
)
def test_a_wrong_order_is_refused(admin: Api, body: dict[str, Any], code: str) -> None:
    refusal = admin.post("/v1/nodes/power", body)
    assert (refusal.status, refusal.code) == (400, code)


def test_a_foreign_operations_claim_is_only_an_identifier(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    plan = plan_of(set_value(1, "t"), nodes=(xname(0),))
    operation = submit(admin.services.database, plan, Submission("test:root", "", None)).operation
    ann = member(admin, "psi")
    assert ann.get(f"/v1/nodes/{xname(0)}").json["claimed_by"] == operation
    assert ann.get(f"/v1/operations/{operation}").code == "unknown-operation"


@given(st.integers(0, 253_402_300_799_999_999))
def test_instants_of_lists_are_written_as_everywhere(instant: int) -> None:
    write = instants.writer()
    assert (write(instant), write(instant)) == (to_text(instant), to_text(instant))
