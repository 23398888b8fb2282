"""Plans through the API: what was planned, shown only to those who may see it."""

from __future__ import annotations

import pytest

from api.conftest import Api
from api.test_nodes import fill, member, xname
from canton.operations.engine import worker
from canton.store.operations import plans


def planned(api: Api, nodes: str) -> str:
    reply = api.post("/v1/nodes/power?dry_run=true", {"nodes": nodes, "to": "on"})
    assert reply.status == 200
    return str(reply.json["digest"])


@pytest.fixture
def ann(admin: Api) -> Api:
    fill(admin, {"psi": range(2), "cscs": range(2, 4), None: range(4, 6)})
    return member(admin, "psi")


def listed(api: Api, query: str = "") -> list[str]:
    return [plan["digest"] for plan in api.get(f"/v1/plans{query}").json["items"]]


def test_a_plan_is_listed_and_shown_with_its_steps(ann: Api) -> None:
    digest = planned(ann, "x1000c0s[0-1]b0n0")
    (summary,) = ann.get("/v1/plans").json["items"]
    assert {**summary, "created_at": "…"} == {
        "digest": digest,
        "kind": "node.power",
        "summary": "power on x1000c0s[0-1]b0n0",
        "tenant": "psi",
        "nodes": "x1000c0s[0-1]b0n0",
        "created_at": "…",
    }
    document = ann.get(f"/v1/plans/{digest}").json
    assert document == {**summary, "steps": document["steps"], "inputs": document["inputs"]}
    assert [step["target"] for step in document["steps"]] == [xname(0), xname(1)]
    assert document["inputs"] == {f"node:{xname(0)}": 1, f"node:{xname(1)}": 1}


def test_planning_the_same_again_is_the_same_plan(ann: Api) -> None:
    assert planned(ann, xname(0)) == planned(ann, "nid000000")
    assert len(listed(ann)) == 1


def test_members_see_their_tenants_and_the_provider_all(admin: Api, ann: Api) -> None:
    own, foreign, free = planned(ann, xname(0)), planned(admin, xname(2)), planned(admin, xname(4))
    assert listed(admin) == [free, foreign, own]
    assert listed(admin, "?sort=created_at&limit=2") == [own, foreign]
    assert listed(admin, "?tenant=cscs") == [foreign]
    assert listed(admin, "?kind=node.maintenance") == []
    assert listed(ann) == [own]
    assert listed(ann, "?tenant=cscs") == listed(admin.as_("eve")) == []
    absent = "sha256:" + "0" * 64
    unknown = ann.get(f"/v1/plans/{absent}")
    assert (unknown.status, unknown.code) == (404, "unknown-plan")
    for digest in (foreign, free):
        assert ann.get(f"/v1/plans/{digest}").text.replace(digest, absent) == unknown.text


def test_a_tenant_reads_of_what_the_provider_does_to_its_nodes_once_it_is_ordered(admin: Api, ann: Api) -> None:
    orders = (("release", {"nodes": xname(0)}), ("assign", {"nodes": xname(4), "tenant": "psi"}))
    release, assign = (admin.post(f"/v1/nodes/{verb}?dry_run=true", order).json["digest"] for verb, order in orders)
    power = planned(admin, xname(1))
    assert set(listed(admin)) == {release, assign, power}
    assert listed(ann) == [power]
    assert [ann.get(f"/v1/plans/{digest}").status for digest in (release, assign, power)] == [404, 404, 200]
    assert admin.post("/v1/nodes/release", {"nodes": xname(0), "plan": release}, "contract ended").status == 202
    assert set(listed(ann)) == {release, power}
    assert ann.get(f"/v1/plans/{release}").status == 200


@pytest.mark.parametrize("path", ["/v1/plans/sha256:1", "/v1/plans/%00", "/v1/plans?kind=%00", "/v1/plans?tenant=-"])
def test_a_wrong_question_is_refused(admin: Api, path: str) -> None:
    assert admin.get(path).code == "invalid-request"


def test_the_oldest_unused_plans_of_a_tenant_give_way(admin: Api, ann: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_UNUSED", 2)
    free = planned(admin, xname(4))
    used = ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}).json["plan"]
    digests = [planned(ann, nodes) for nodes in (xname(1), f"{xname(0)},{xname(1)}")]
    off = ann.post("/v1/nodes/power?dry_run=true", {"nodes": xname(1), "to": "off"}).json["digest"]
    assert set(listed(admin)) == {free, used, digests[1], off}
    assert ann.post("/v1/nodes/power", {"nodes": xname(1), "to": "on", "plan": digests[0]}).code == "unknown-plan"


def test_a_tenants_dry_runs_do_not_push_out_what_the_provider_planned(
    admin: Api, ann: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MOST_UNUSED", 2)
    reviewed = admin.post("/v1/nodes/release?dry_run=true", {"nodes": xname(0)}).json["digest"]
    for nodes in (xname(0), xname(1), f"{xname(0)},{xname(1)}"):
        planned(ann, nodes)
    order = {"nodes": xname(0), "plan": reviewed}
    assert admin.post("/v1/nodes/release", order, "contract ended").status == 202


def test_a_plan_that_was_not_used_in_time_is_forgotten(admin: Api, ann: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    used = ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}).json["plan"]
    unused = planned(ann, xname(1))
    for longest, expected in ((plans.UNUSED_FOR, {used, unused}), (0, {used})):
        monkeypatch.setattr(plans, "UNUSED_FOR", longest)
        with admin.services.database.write() as connection:
            worker.sweep(connection)
        assert set(listed(admin)) == expected
