"""Two persons for one change: one requests it, another approves it, and it is made once, exactly as requested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from threading import Barrier, Thread

import pytest
import sqlalchemy as sa

from api.conftest import Api, Reply, serving
from api.test_tenants import make, without
from canton.api.rendering.documents import Items
from canton.api.services import Services
from canton.api.v1.approvals import Approval
from canton.policy.roles import BUILTIN, custom
from canton.store import audit
from canton.store.listing import Window
from canton.store.schema import approval as table
from tokens import Mint

UNDER_TWO = ("tenant.delete", "tenant.update")
ABSENT = "ap_" + "0" * 28
# Requests changes in its tenant, and may not see those of other tenants.
CLERK = custom("clerk", "tenant", "", ["tenant.read", "tenant.update"])


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    policy = replace(services.settings.policy, two_person=UNDER_TWO)
    settings_with_policy = replace(
        services, settings=replace(services.settings, policy=policy), roles={**BUILTIN, "clerk": CLERK}
    )
    with serving(settings_with_policy, tokens) as running:
        yield running


@pytest.fixture
def second(admin: Api) -> Api:
    return admin.as_("second", "canton-provider-admin")


def delete(api: Api, approval: str | None = None, **headers: str) -> Reply:
    approval_header = {} if approval is None else {"Canton_Approval": approval}
    return api.call("DELETE", "/v1/tenants/psi", reason="contract ended", **approval_header, **headers)


def ask(api: Api) -> str:
    refusal = delete(api)
    assert (refusal.status, refusal.code) == (403, "approval-required")
    return str(refusal.json["details"]["approval"])


def update(api: Api, description: str, approval: str | None = None) -> Reply:
    headers = {} if approval is None else {"Canton_Approval": approval}
    return api.call("PATCH", "/v1/tenants/psi", {"description": description}, **headers)


def decide(api: Api, approval: str, verdict: str = "approve") -> Reply:
    return api.post(f"/v1/approvals/{approval}/{verdict}", reason="looked at it")


def state(api: Api, approval: str) -> str:
    return str(api.get(f"/v1/approvals/{approval}").json["state"])


def test_a_change_goes_through_once_when_a_second_person_says_so(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    assert admin.get("/v1/tenants/psi").status == 200
    assert ask(admin) == waiting
    early = delete(admin, waiting)
    assert (early.status, early.code, early.json["details"]["state"]) == (409, "approval-not-usable", "pending")
    own = decide(admin, waiting)
    assert (own.status, own.code, own.json["details"]["rule"]) == (403, "forbidden", "two-persons")
    approved = decide(second, waiting)
    assert approved.status == 200
    Approval.model_validate_json(approved.text)
    assert {**approved.json, "created_at": "…", "expires_at": "…"} == {
        "id": waiting,
        "permission": "tenant.delete",
        "tenant": "psi",
        "method": "DELETE",
        "path": "/v1/tenants/psi",
        "body": None,
        "requested_by": "test:root",
        "requested_identity": "test:id-of-root",
        "reason": "contract ended",
        "state": "approved",
        "decided_by": "test:second",
        "decided_reason": "looked at it",
        "created_at": "…",
        "expires_at": "…",
    }
    assert delete(second, waiting).code == "approval-not-usable"
    assert delete(admin, waiting).status == 204
    assert admin.get("/v1/tenants/psi").status == 404
    assert state(admin, waiting) == "used"


def test_only_people_approve_and_ask(admin: Api, second: Api) -> None:
    """A token from client credentials has no session; a token that does not show its kind is treated the same."""
    make(admin, "psi")
    machines = [
        admin.as_("service-account-robot", "canton-provider-admin"),
        admin.as_("second", "canton-provider-admin", sid=None),
        admin.as_("second", "canton-provider-admin", clientHost="10.0.0.1"),
    ]
    waiting = ask(admin)
    for machine in machines:
        assert machine.get("/v1/whoami").json["kind"] == "machine"
        for verdict in ("approve", "refuse"):
            refusal = decide(machine, waiting, verdict)
            assert (refusal.status, refusal.json["details"]["rule"]) == (403, "two-persons")
        reply = delete(machine)
        assert (reply.code, reply.json["details"]["rule"]) == ("forbidden", "two-persons")
        assert machine.get("/v1/tenants/psi").status == 200
    assert state(admin, waiting) == "pending"
    decide(second, waiting)
    used = delete(admin.as_("root", "canton-provider-admin", sid=None), waiting)
    assert (used.code, used.json["details"]["rule"]) == ("forbidden", "two-persons")
    assert state(admin, waiting) == "approved"


def test_a_machine_has_the_roles_that_it_was_granted(admin: Api) -> None:
    make(admin, "psi")
    subject = "test:service-account-robot"
    admin.post("/v1/bindings", {"subject": subject, "role": "tenant-viewer", "tenant": "psi"})
    robot = admin.as_("service-account-robot")
    assert robot.get("/v1/tenants/psi").status == 200
    assert robot.get("/v1/whoami").json["id"] == subject


def test_an_approval_is_used_once(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = str(update(admin, "one").json["details"]["approval"])
    decide(second, waiting)
    assert update(admin, "one", waiting).status == 200
    repeated = update(admin, "one", waiting)
    assert (repeated.status, repeated.code, repeated.json["details"]["state"]) == (409, "approval-not-usable", "used")


def test_an_approval_is_not_valid_for_another_request(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = str(update(admin, "one").json["details"]["approval"])
    decide(second, waiting)
    assert update(admin, "two", waiting).code == "approval-not-usable"
    assert admin.get("/v1/tenants/psi").json["description"] == ""
    assert update(admin, "one", waiting).status == 200


def test_an_approval_is_for_the_reason_too(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    decide(second, waiting)
    reply = admin.call("DELETE", "/v1/tenants/psi", reason="spite", Canton_Approval=waiting)
    assert reply.code == "approval-not-usable"
    assert "reason" in reply.json["detail"]
    repeated = admin.call("DELETE", "/v1/tenants/psi", reason="spite")
    assert repeated.json["details"]["approval"] != waiting
    assert admin.get(f"/v1/approvals/{waiting}").json["state"] == "approved"
    assert delete(admin, waiting).status == 204


def test_a_change_that_fails_leaves_the_approval_good(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    decide(second, waiting)
    binding = admin.post("/v1/bindings", {"subject": "test:ann", "role": "tenant-viewer", "tenant": "psi"}).json["id"]
    assert delete(admin, waiting).code == "not-empty"
    assert state(admin, waiting) == "approved"
    admin.call("DELETE", f"/v1/bindings/{binding}", reason="x")
    assert delete(admin, waiting).status == 204


def test_a_refused_or_expired_approval_opens_nothing(admin: Api, second: Api) -> None:
    make(admin, "psi")
    refusal = ask(admin)
    assert decide(second, refusal, "refuse").json["state"] == "refused"
    assert delete(admin, refusal).code == "approval-not-usable"
    assert decide(second, refusal).code == "wrong-state"
    late = ask(admin)
    assert late != refusal
    decide(second, late)
    with admin.services.database.write() as connection:
        connection.execute(sa.update(table).where(table.c.id == late).values(expires_at=1))
    assert state(admin, late) == "expired"
    assert delete(admin, late).json["details"]["state"] == "expired"
    assert decide(second, late).code == "wrong-state"
    assert admin.get("/v1/tenants/psi").status == 200


def test_deciding_the_same_again_is_nothing_new(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    first = decide(second, waiting)
    repeated = decide(second, waiting)
    assert (repeated.status, repeated.headers["canton-unchanged"], repeated.json) == (200, "true", first.json)
    assert decide(admin.as_("third", "canton-provider-admin"), waiting).code == "wrong-state"


def test_of_two_uses_at_the_same_time_one_succeeds(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = str(update(admin, "one").json["details"]["approval"])
    decide(second, waiting)
    replies: list[Reply] = []
    start = Barrier(4)

    def use() -> None:
        start.wait(20)
        replies.append(update(admin, "one", waiting))

    threads = [Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(reply.status for reply in replies) == [200, 409, 409, 409]


def test_a_caller_who_may_not_make_a_change_may_not_decide_on_it(admin: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    operator = admin.as_("op", "canton-provider-operator")
    refusal = decide(operator, waiting)
    assert (refusal.status, refusal.code) == (403, "forbidden")
    assert refusal.json["details"] == {"permission": "tenant.delete", "rule": "not-granted", "tenant": "psi"}
    watching = decide(admin.as_("aud", "canton-auditor"), waiting)
    assert (watching.status, watching.json["details"]["permission"]) == (403, "approval.decide")
    assert state(admin, waiting) == "pending"


def test_a_service_account_neither_asks_nor_decides(admin: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    body = {"name": "ci", "tenant": None, "permissions": ["tenant.delete", "approval.decide", "approval.read"]}
    path = admin.post("/v1/service-accounts", body).headers["location"]
    ci = replace(admin, token=admin.post(f"{path}/tokens").json["token"])
    for refusal in (decide(ci, waiting), delete(ci)):
        assert (refusal.status, refusal.code, refusal.json["details"]["rule"]) == (403, "forbidden", "two-persons")
    assert delete(ci, waiting).json["details"]["rule"] == "two-persons"
    assert state(admin, waiting) == "pending"


def test_a_requester_sees_their_own_approvals(admin: Api) -> None:
    make(admin, "psi", "cscs")
    admin.post("/v1/bindings", {"subject": "test:ann", "role": "clerk", "tenant": "psi"})
    foreign = ask(admin)
    ann = admin.as_("ann")
    mine = str(update(ann, "mine").json["details"]["approval"])
    reply = ann.get("/v1/approvals")
    Items[Approval].model_validate_json(reply.text)
    assert [approval["id"] for approval in reply.json["items"]] == [mine]
    assert ann.get(f"/v1/approvals/{mine}").status == 200
    assert ann.get(f"/v1/approvals/{foreign}").code == "unknown-approval"
    assert decide(ann, mine).code == "forbidden"
    assert decide(ann, foreign).code == "unknown-approval"
    assert decide(admin.as_("boss", "canton-tenant-admin:psi"), mine).status == 200
    assert update(ann, "mine", mine).status == 200


def test_lists_show_permitted_rows_that_match_the_filters(admin: Api, second: Api) -> None:
    make(admin, "psi", "cscs")
    first = ask(admin)
    elsewhere = admin.call("DELETE", "/v1/tenants/cscs", reason="x").json["details"]["approval"]
    decide(second, first)

    def listed(api: Api, query: str = "") -> list[str]:
        return [approval["id"] for approval in api.get(f"/v1/approvals{query}").json["items"]]

    assert listed(second) == [first, elsewhere]
    assert listed(second, "?sort=-created_at") == [elsewhere, first]
    assert listed(second, "?state=pending") == [elsewhere]
    assert listed(second, "?state=approved&tenant=psi") == [first]
    assert listed(second, "?state=expired") == []
    member = admin.as_("ann", "canton-tenant-operator:psi")
    own = update(admin.as_("boss", "canton-tenant-admin:psi"), "x").json["details"]["approval"]
    assert listed(member) == [own]
    assert listed(member, "?tenant=cscs") == listed(member, "?tenant=none") == []
    assert listed(admin.as_("vic", "canton-tenant-viewer:psi")) == []
    assert second.get("/v1/approvals?state=open").code == "invalid-request"


def test_a_foreign_object_answers_as_an_absent_one(admin: Api) -> None:
    make(admin, "psi", "cscs")
    foreign = ask(admin)
    ann = admin.as_("ann", "canton-tenant-admin:cscs")
    for method, action in (("GET", ""), ("POST", "/approve"), ("POST", "/refuse")):
        foreign_reply = ann.call(method, f"/v1/approvals/{foreign}{action}")
        absent = ann.call(method, f"/v1/approvals/{ABSENT}{action}")
        assert foreign_reply.status == absent.status == 404
        assert without(foreign_reply.json, foreign) == without(absent.json, ABSENT)


def test_a_suspended_tenants_member_does_not_decide(admin: Api) -> None:
    make(admin, "psi")
    waiting = str(update(admin, "new").json["details"]["approval"])
    boss = admin.as_("boss", "canton-tenant-admin:psi")
    admin.post("/v1/tenants/psi/suspend")
    assert decide(boss, waiting).json["details"]["rule"] == "tenant-suspended"
    mixed = admin.as_("mix", "canton-provider-operator", "canton-tenant-admin:psi")
    assert decide(mixed, waiting).json["details"]["rule"] == "tenant-suspended"


def test_every_step_is_in_the_audit(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    decide(admin, waiting)
    decide(second, waiting)
    delete(admin, waiting)
    with admin.services.database.read() as connection:
        rows = audit.page(connection, None, [], Window(10, "seq")).rows
        audit.verify(connection)
    audited = [(row["actor"], row["action"], json.loads(row["details"])) for row in rows[1:]]
    assert [(actor, action, details["outcome"]) for actor, action, details in audited] == [
        ("test:root", "tenant.delete", "approval-required"),
        ("test:root", "approval.decide", "forbidden"),
        ("test:second", "approval.decide", "done"),
        ("test:root", "tenant.delete", "done"),
    ]
    assert audited[2][2]["asked_for"] == "tenant.delete"
    assert audited[3][2]["approval"] == waiting


def test_a_name_in_another_case_is_no_second_person(admin: Api) -> None:
    make(admin, "psi")
    approval = ask(admin)
    refusal = decide(admin.as_("Root", "canton-provider-admin"), approval)
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "two-persons")


def test_an_approval_is_for_what_the_request_names_whatever_its_host_header_says(admin: Api, second: Api) -> None:
    make(admin, "psi", "cscs")
    approval = ask(admin)
    assert decide(second, approval).status == 200
    for host in ("x/v1/tenants/psi#", "x/v1/tenants/psi?"):
        used = admin.call("DELETE", "/v1/tenants/cscs", reason="contract ended", Canton_Approval=approval, Host=host)
        assert used.code == "approval-not-usable"


@pytest.mark.parametrize("query", ["dry_run=true", "note=a+rehearsal", "dry_run", "%64ry_run=true", "a=1&a=2"])
def test_a_pending_change_with_a_query_is_refused(admin: Api, query: str) -> None:
    make(admin, "psi")
    refusal = admin.call("DELETE", f"/v1/tenants/psi?{query}", reason="contract ended")
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    assert admin.get("/v1/approvals").json["items"] == []


def test_a_tenant_does_not_read_what_the_provider_has_not_decided(admin: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    member = admin.as_("ann", "canton-tenant-admin:psi")
    assert member.get("/v1/approvals").json["items"] == []
    assert member.get(f"/v1/approvals/{waiting}").status == 404


def test_the_tenants_audit_shows_the_change_only_once_it_is_made(admin: Api, second: Api) -> None:
    make(admin, "psi")
    waiting = ask(admin)
    assert delete(admin, waiting).code == "approval-not-usable"
    member = admin.as_("ann", "canton-tenant-admin:psi")
    assert [record["action"] for record in member.get("/v1/audit").json["items"]] == ["tenant.create"]
    attempts = admin.get("/v1/audit?action=tenant.delete").json["items"]
    assert [(record["details"]["outcome"], record["tenant"]) for record in attempts] == [
        ("approval-not-usable", None),
        ("approval-required", None),
    ]
    assert attempts[0]["details"]["named_tenant"] == "psi"
    decide(second, waiting)
    assert delete(admin, waiting).status == 204
    assert admin.get("/v1/audit?action=tenant.delete&tenant=psi").json["items"][0]["details"]["outcome"] == "done"
