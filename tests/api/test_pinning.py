"""A binding by name becomes the first person's who logs in with it, and stays theirs if another has the name later."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from api.conftest import Api, serving
from api.test_members import grant, hence
from api.test_tenants import make
from canton.store.schema import binding

OLD, NEW = {"sub": "sub-of-the-first"}, {"sub": "sub-of-the-second"}


def bound(admin: Api) -> Any:
    (item,) = admin.get("/v1/bindings?subject=test:ann").json["items"]
    return item


def records(admin: Api, action: str) -> list[Any]:
    items = admin.get("/v1/audit?limit=200").json["items"]
    return [item for item in items if item["action"] == action]


def test_a_new_person_with_an_old_name_inherits_nothing(admin: Api) -> None:
    make(admin, "psi")
    binding = grant(admin, "test:ann", "tenant-operator", "psi").json
    assert (binding["identity"], binding["other_identity"]) == (None, None)
    old, new = admin.as_("ann", **OLD), admin.as_("ann", **NEW)
    assert old.get("/v1/tenants/psi").status == 200
    assert bound(admin)["identity"] == "test:sub-of-the-first"
    for _ in range(3):
        assert new.get("/v1/tenants/psi").status == 404
        assert new.get("/v1/whoami").json["bindings"] == []
    assert old.get("/v1/tenants/psi").status == 200
    assert bound(admin)["other_identity"] == "test:sub-of-the-second"


def test_pinning_and_its_refusal_are_recorded_once_and_are_events(admin: Api) -> None:
    make(admin, "psi")
    binding = grant(admin, "test:ann", "tenant-operator", "psi").json
    for claims in (OLD, NEW, OLD, NEW):
        admin.as_("ann", **claims).get("/v1/whoami")
    (pinned,), (reused,) = records(admin, "member.pin"), records(admin, "member.name-reused")
    assert (pinned["actor"], pinned["subject"]) == ("test:ann", f"binding:{binding['id']}")
    assert pinned["details"] | {"request": "…"} == {
        "subject": "test:ann", "role": "tenant-operator", "tenant": "psi", "identity": "test:sub-of-the-first",
        "request": "…",
    }  # fmt: skip
    assert reused["details"]["identity"] == "test:sub-of-the-second"
    kinds = [item["kind"] for item in admin.get("/v1/events?tenant=psi").json["items"]]
    assert kinds == ["tenant.created", "member.granted", "member.pinned", "member.name-reused"]


def test_a_renamed_person_keeps_their_bindings(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:ann", "tenant-operator", "psi")
    admin.as_("ann", **OLD).get("/v1/whoami")
    renamed = admin.as_("ann-lee", **OLD)
    assert renamed.get("/v1/tenants/psi").status == 200
    me = renamed.get("/v1/whoami").json
    assert (me["id"], me["identity"]) == ("test:ann-lee", "test:sub-of-the-first")


def test_a_new_binding_of_a_name_is_for_its_present_owner(admin: Api) -> None:
    make(admin, "psi")
    binding = grant(admin, "test:ann", "tenant-viewer", "psi").json
    admin.as_("ann", **OLD).get("/v1/whoami")
    repeated = grant(admin, "test:ann", "tenant-viewer", "psi")
    assert (repeated.status, repeated.json["identity"]) == (200, "test:sub-of-the-first"), "still the first person's"
    admin.call("DELETE", f"/v1/bindings/{binding['id']}", reason="left")
    grant(admin, "test:ann", "tenant-viewer", "psi")
    assert admin.as_("ann", **NEW).get("/v1/tenants/psi").status == 200
    assert admin.as_("ann", **OLD).get("/v1/tenants/psi").status == 404


def test_a_role_is_not_extended_for_the_former_owner_of_a_name(admin: Api) -> None:
    make(admin, "psi")
    binding = grant(admin, "test:ann", "tenant-viewer", "psi", until=hence(3600)).json
    for claims in (OLD, NEW):
        admin.as_("ann", **claims).get("/v1/whoami")
    for until in (hence(7200), None, binding["until"]):
        refusal = grant(admin, "test:ann", "tenant-viewer", "psi", until=until)
        assert (refusal.status, refusal.code) == (409, "conflict")
        assert f"canton member remove {binding['id']}" in refusal.json["detail"]
    assert bound(admin)["until"] == binding["until"]


def test_a_role_that_was_over_is_granted_to_the_name_and_not_to_its_former_owner(admin: Api) -> None:
    make(admin, "psi")
    old_binding = grant(admin, "test:ann", "tenant-viewer", "psi", until=hence(3600)).json
    admin.as_("ann", **OLD).get("/v1/whoami")
    with admin.services.database.write() as connection:
        connection.execute(sa.update(binding).where(binding.c.id == old_binding["id"]).values(until=1))
    repeated = grant(admin, "test:ann", "tenant-viewer", "psi")
    assert (repeated.status, repeated.json["identity"]) == (200, None)
    assert admin.as_("ann-lee", **OLD).get("/v1/tenants/psi").status == 404
    assert admin.as_("ann", **NEW).get("/v1/tenants/psi").status == 200


def test_a_groups_binding_is_not_pinned(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:group/ops", "tenant-viewer", "psi")
    for user in ("ann", "bob"):
        assert admin.as_(user, groups=["/ops"]).get("/v1/tenants/psi").status == 200
    (item,) = admin.get("/v1/bindings?subject=test:group/ops").json["items"]
    assert item["identity"] is None


def test_of_two_first_logins_at_once_one_is_pinned(admin: Api) -> None:
    make(admin, "psi")
    for n in range(4):
        grant(admin, f"test:ann{n}", "tenant-viewer", "psi")
        callers = [
            admin.as_(f"ann{n}", **claims) for claims in ({"sub": f"old-{n}"}, {"sub": f"new-{n}"}) for _ in range(3)
        ]
        with ThreadPoolExecutor(len(callers)) as pool:
            list(pool.map(lambda caller: caller.get("/v1/whoami"), callers))
        statuses = [caller.get("/v1/tenants/psi").status for caller in (callers[0], callers[-1])]
        assert sorted(statuses) == [200, 404]
    assert len(records(admin, "member.pin")) == 4


def test_a_pinned_binding_is_read_and_not_written(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:ann", "tenant-viewer", "psi")
    callers = [admin.as_("ann", **claims) for claims in (OLD, NEW)]
    for caller in callers:
        caller.get("/v1/whoami")
    writes: list[str] = []
    database = admin.services.database
    original = type(database).write

    def counted(self: Any, *arguments: Any, **keywords: Any) -> Any:
        writes.append("write")
        return original(self, *arguments, **keywords)

    type(database).write = counted  # type: ignore[method-assign]
    try:
        for caller in callers:
            assert caller.get("/v1/whoami").status == 200
    finally:
        type(database).write = original  # type: ignore[method-assign]
    assert writes == []


def test_audit_shows_the_identity_beside_the_name(admin: Api) -> None:
    make(admin, "psi")
    (record,) = records(admin, "tenant.create")
    assert (record["actor"], record["details"]["identity"]) == ("test:root", "test:id-of-root")


def test_the_requester_of_an_approval_is_a_person_and_not_a_name(admin: Api) -> None:
    """A renamed person does not approve their own change, and a namesake neither sees nor uses their approval."""
    settings = admin.services.settings
    policy = replace(settings.policy, two_person=("tenant.update",))
    with serving(replace(admin.services, settings=replace(settings, policy=policy)), admin.mint) as server:
        make(server.as_("root", "canton-provider-admin"), "psi")
        ann = server.as_("ann", "canton-tenant-admin:psi", **OLD)
        path, body = "/v1/tenants/psi", {"description": "x"}
        waiting = str(ann.call("PATCH", path, body).json["details"]["approval"])
        renamed = server.as_("ann-lee", "canton-tenant-admin:psi", **OLD)
        refusal = renamed.post(f"/v1/approvals/{waiting}/approve")
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "two-persons")
        second = server.as_("bob", "canton-tenant-admin:psi")
        assert second.post(f"/v1/approvals/{waiting}/approve").status == 200
        namesake = server.as_("ann", "canton-tenant-admin:psi", **NEW)
        assert namesake.call("PATCH", path, body, Canton_Approval=waiting).code == "approval-not-usable"
        assert server.as_("ann", **NEW).get(f"/v1/approvals/{waiting}").status == 404
        assert server.as_("ann-lee", **OLD).get(f"/v1/approvals/{waiting}").status == 200
        assert renamed.call("PATCH", path, body, Canton_Approval=waiting).status == 200


def test_a_namesake_is_not_given_the_answer_to_anothers_key(admin: Api) -> None:
    make(admin, "psi")
    first, second = (admin.as_("ann", "canton-provider-admin", **claims) for claims in (OLD, NEW))
    body = {"name": "ci", "tenant": "psi", "permissions": ["node.read"]}
    assert first.post("/v1/service-accounts", body, Idempotency_Key="k").status == 201
    assert second.post("/v1/service-accounts", body, Idempotency_Key="k").code == "already-exists"
    assert first.post("/v1/service-accounts", body, Idempotency_Key="k").status == 201
