"""Operations through the API: lists, details, and the interventions of a person."""

from __future__ import annotations

from typing import Any

import pytest

from api.conftest import Api
from api.test_nodes import fill, member, xname
from canton.api.rendering import operations as work
from canton.domain.nodeset.nodeset import fold
from canton.domain.operation import OperationState, StepState
from canton.store import audit
from canton.store.operations import claims, journal
from canton.store.operations.journal import StepRow


def started(api: Api, n: int = 0) -> str:
    reply = api.post("/v1/nodes/power", {"nodes": xname(n), "to": "on"}, "ticket 17")
    assert reply.status == 202
    return str(reply.json["id"])


def in_trouble(api: Api, identity: str) -> None:
    """Put an operation into the state after a step failed that had acted."""
    with api.services.database.write() as connection:
        journal.save(
            connection, identity, [StepRow(1, "set_power/1", xname(0), StepState.FAILED, acts=1, error={"code": "x"})]
        )
        journal.set_state(connection, identity, OperationState.NEEDS_ATTENTION, {"choices": ["retry"]})


@pytest.fixture
def ann(admin: Api) -> Api:
    fill(admin, {"psi": range(2), "cscs": range(2, 4), None: range(4, 6)})
    return member(admin, "psi")


def test_an_operation_is_shown_with_its_steps(admin: Api, ann: Api) -> None:
    identity = started(ann)
    in_trouble(admin, identity)
    document = ann.get(f"/v1/operations/{identity}").json
    assert {**document, "created_at": "…", "plan": "…"} == {
        "id": identity,
        "kind": "node.power",
        "summary": f"power on {xname(0)}",
        "tenant": "psi",
        "actor": "test:ann",
        "reason": "ticket 17",
        "plan": "…",
        "state": "needs_attention",
        "nodes": xname(0),
        "steps": {"total": 1, "done": 0, "failed": 1, "under_way": 0, "pending": 0},
        "attention": {"choices": ["retry"]},
        "cancel_requested_by": None,
        "worker": None,
        "created_at": "…",
        "ended_at": None,
    }
    (step,) = ann.get(f"/v1/operations/{identity}/steps").json["items"]
    assert {**step, "changed_at": "…"} == {
        "n": 1,
        "kind": "set_power/1",
        "target": xname(0),
        "state": "failed",
        "tries": 0,
        "acts": 1,
        "begun_at": None,
        "changed_at": "…",
        "evidence": None,
        "error": {"code": "x"},
        "cause": None,
    }


def test_lists_the_newest_first_with_filters(admin: Api, ann: Api) -> None:
    first, second, foreign = started(ann), started(ann, 1), started(admin, 2)
    in_trouble(admin, first)

    def listed(query: str = "", api: Api = admin) -> list[str]:
        return [operation["id"] for operation in api.get(f"/v1/operations{query}").json["items"]]

    assert listed() == [foreign, second, first]
    assert listed("?sort=created_at") == [first, second, foreign]
    assert listed(api=ann) == [second, first]
    assert listed(api=admin.as_("eve")) == []
    for query, expected in (
        ("?tenant=psi", [second, first]),
        ("?tenant=none", []),
        ("?state=needs_attention", [first]),
        ("?kind=node.power", [foreign, second, first]),
        ("?kind=other", []),
        ("?actor=test:root", [foreign]),
        (f"?node={xname(1)}", [second]),
    ):
        assert listed(query) == expected, query
    assert listed("?tenant=cscs", ann) == []
    assert listed(f"?node={xname(2)}", ann) == []
    page = admin.get("/v1/operations?limit=2&fields=id,steps").json
    assert [row["id"] for row in page["items"]] == [foreign, second]
    assert page["items"][0]["steps"]["pending"] == 1
    assert [row["id"] for row in admin.get(f"/v1/operations?limit=2&after={page['next']}").json["items"]] == [first]


def test_a_set_of_nodes_is_folded_once_however_many_operations_are_on_it(
    admin: Api, ann: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    work._folded.cache_clear()
    folds: list[str] = []

    def counted(names: list[str]) -> str:
        folds.append(fold(names))
        return folds[-1]

    monkeypatch.setattr(work, "fold", counted)
    for _ in range(3):
        identity = started(ann)
        with admin.services.database.write() as connection:
            journal.set_state(connection, identity, OperationState.DONE)
            claims.release(connection, identity)
    assert [operation["nodes"] for operation in ann.get("/v1/operations").json["items"]] == [xname(0)] * 3
    assert folds == [xname(0)]


def test_those_since_an_instant(ann: Api) -> None:
    started(ann)
    at = ann.get("/v1/operations").json["items"][0]["created_at"]
    assert len(ann.get(f"/v1/operations?since={at}").json["items"]) == 1
    assert ann.get("/v1/operations?since=2099-01-01T00:00:00Z").json["items"] == []


def test_steps_come_in_pages(admin: Api, ann: Api) -> None:
    identity = ann.post("/v1/nodes/power", {"nodes": "x1000c0s[0-1]b0n0", "to": "on"}).json["id"]
    page = ann.get(f"/v1/operations/{identity}/steps?limit=1").json
    following = ann.get(f"/v1/operations/{identity}/steps?limit=1&after={page['next']}").json
    assert [step["n"] for step in page["items"] + following["items"]] == [1, 2]
    assert following["next"] is None


VERBS = ("retry", "undo", "abandon", "cancel")


@pytest.mark.parametrize(
    ("verb", "state", "action"),
    [
        ("retry", "running", "operation.running"),
        ("undo", "undoing", "operation.undoing"),
        ("abandon", "abandoned", "operation.abandoned"),
        ("cancel", "queued", "operation.cancel-requested"),
    ],
)
def test_interventions(admin: Api, ann: Api, verb: str, state: str, action: str) -> None:
    identity = started(ann)
    if verb != "cancel":
        in_trouble(admin, identity)
    records_before = len(admin.get("/v1/audit").json["items"])
    reply = ann.post(f"/v1/operations/{identity}/{verb}", reason="because", Idempotency_Key="k")
    assert (reply.status, reply.headers["location"]) == (202, f"/v1/operations/{identity}")
    assert reply.json["state"] == state
    assert reply.json == ann.get(f"/v1/operations/{identity}").json
    assert reply.json["cancel_requested_by"] == ("test:ann" if verb == "cancel" else None)
    record, *older = admin.get("/v1/audit").json["items"]
    assert len(older) == records_before, "one record, and not two"
    assert (record["action"], record["subject"], record["tenant"]) == (action, identity, "psi")
    assert (record["actor"], record["reason"]) == ("test:ann", "because")
    assert record["details"]["permission"] == f"operation.{verb}"
    assert record["details"]["outcome"] == ("abandoned" if verb == "abandon" else "started")
    assert record["details"]["request"]
    repeated = ann.post(f"/v1/operations/{identity}/{verb}", reason="because", Idempotency_Key="k")
    assert (repeated.status, repeated.json) == (202, reply.json)
    with admin.services.database.read() as connection:
        audit.verify(connection)


@pytest.mark.parametrize("verb", VERBS)
def test_in_the_wrong_state_nothing_happens_and_it_is_recorded(admin: Api, ann: Api, verb: str) -> None:
    identity = started(ann)
    if verb == "cancel":
        in_trouble(admin, identity)
    document_before = ann.get(f"/v1/operations/{identity}").json
    refusal = ann.post(f"/v1/operations/{identity}/{verb}")
    assert (refusal.status, refusal.code) == (409, "wrong-state")
    assert ann.get(f"/v1/operations/{identity}").json == document_before
    record = admin.get("/v1/audit").json["items"][0]
    assert (record["action"], record["details"]["outcome"]) == (f"operation.{verb}", "wrong-state")


def without(problem: dict[str, Any], identity: str) -> str:
    return str({key: value for key, value in problem.items() if key != "request"}).replace(identity, "…")


@pytest.mark.parametrize("verb", ["", "/steps", *(f"/{verb}" for verb in VERBS)])
def test_a_foreign_operation_answers_as_an_absent_one(admin: Api, ann: Api, verb: str) -> None:
    """For operations of another tenant and of the provider."""
    absent = "op_" + "0" * 28
    method = "GET" if verb in ("", "/steps") else "POST"
    for foreign in (started(admin, 2), started(admin, 4)):
        answers = [ann.call(method, f"/v1/operations/{identity}{verb}", reason="x") for identity in (foreign, absent)]
        assert [(answer.status, answer.code) for answer in answers] == [(404, "unknown-operation")] * 2
        assert without(answers[0].json, foreign) == without(answers[1].json, absent)


def test_a_caller_who_sees_but_may_not_change_reads_the_rule(admin: Api, ann: Api) -> None:
    identity = started(ann)
    refusal = admin.as_("vic", "canton-tenant-viewer:psi").post(f"/v1/operations/{identity}/cancel")
    assert (refusal.status, refusal.json["details"]) == (
        403,
        {"permission": "operation.cancel", "rule": "not-granted", "tenant": "psi"},
    )


@pytest.mark.parametrize("verb", ["undo", "abandon"])
def test_an_irreversible_change_needs_a_reason(admin: Api, ann: Api, verb: str) -> None:
    identity = started(ann)
    in_trouble(admin, identity)
    assert ann.post(f"/v1/operations/{identity}/{verb}", reason=None).code == "reason-required"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/operations/op_1",
        "/v1/operations/op_%00",
        "/v1/operations?state=asleep",
        "/v1/operations?actor=%00",
        "/v1/operations?node=",
        "/v1/operations?sort=actor",
    ],
)
def test_a_wrong_question_is_refused(admin: Api, path: str) -> None:
    assert admin.get(path).code == "invalid-request"


def test_a_tenant_does_not_interfere_with_the_provider(admin: Api, ann: Api) -> None:
    ordered = admin.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}).json["id"]
    refusal = ann.post(f"/v1/operations/{ordered}/cancel")
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "by-provider")
    assert ann.get(f"/v1/operations/{ordered}").status == 200
    assert admin.post(f"/v1/operations/{ordered}/cancel").status == 202
