"""Bindings through the API: granted, listed, ended and revoked, and never with more rights than the granter has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, repeat
from threading import Thread
from typing import Any

import pytest

from api.conftest import Api, Reply, issuer_entry, serving
from api.test_tenants import make, without
from canton.api.rendering.documents import Items
from canton.api.v1.members import Binding, Member
from canton.domain.timestamps import to_text
from canton.policy.roles import BUILTIN, custom
from canton.store.access import bindings
from canton.store.database import SECOND, system_clock

ABSENT = "bd_" + "0" * 28


def grant(api: Api, subject: str, role: str, tenant: str | None, **more: Any) -> Reply:
    return api.post("/v1/bindings", {"subject": subject, "role": role, "tenant": tenant, **more})


def hence(seconds: int) -> str:
    return to_text(system_clock() + seconds * SECOND)


@contextmanager
def served_with(admin: Api, **changed: Any) -> Iterator[Api]:
    """Another server with the same database, seen by its administrator."""
    with serving(replace(admin.services, **changed), admin.mint) as server:
        yield server.as_("root", "canton-provider-admin")


def test_a_role_is_granted_seen_and_used(admin: Api) -> None:
    make(admin, "psi", "cscs")
    ann = admin.as_("ann")
    assert ann.get("/v1/tenants/psi").status == 404
    reply = grant(admin, "test:ann", "tenant-viewer", "psi")
    assert reply.status == 201
    assert reply.headers["location"] == f"/v1/bindings/{reply.json['id']}"
    Binding.model_validate_json(reply.text)
    assert {**reply.json, "id": "…", "created_at": "…"} == {
        "id": "…",
        "subject": "test:ann",
        "identity": None,
        "other_identity": None,
        "role": "tenant-viewer",
        "tenant": "psi",
        "until": None,
        "granted_by": "test:root",
        "reason": "a test",
        "created_at": "…",
    }
    assert ann.get("/v1/tenants/psi").status == 200
    assert ann.get("/v1/tenants/cscs").status == 404
    # Who granted it and why is for readers of the audit, and a viewer is none.
    document = reply.json | {"identity": "test:id-of-ann", "granted_by": None, "reason": None}
    assert ann.get(f"/v1/bindings/{reply.json['id']}").json == document


def test_a_revoked_role_is_gone_with_the_next_request(admin: Api) -> None:
    make(admin, "psi")
    ann = admin.as_("ann")
    binding_id = grant(admin, "test:ann", "tenant-admin", "psi").json["id"]
    assert ann.get("/v1/tenants/psi").status == 200
    assert admin.call("DELETE", f"/v1/bindings/{binding_id}").code == "reason-required"
    assert ann.get("/v1/tenants/psi").status == 200
    assert admin.call("DELETE", f"/v1/bindings/{binding_id}", reason="left").status == 204
    assert ann.get("/v1/tenants/psi").status == 404
    assert admin.get(f"/v1/bindings/{binding_id}").code == "unknown-binding"
    assert admin.call("DELETE", f"/v1/bindings/{binding_id}", reason="left").code == "unknown-binding"


def test_one_may_give_up_ones_own_last_role(admin: Api) -> None:
    make(admin, "psi")
    binding_id = grant(admin, "test:ann", "tenant-admin", "psi").json["id"]
    ann = admin.as_("ann")
    assert ann.call("DELETE", f"/v1/bindings/{binding_id}", reason="enough").status == 204
    assert ann.get("/v1/tenants").json["items"] == []


def test_a_group_has_the_role_of_its_issuers_group_only(admin: Api) -> None:
    make(admin, "psi")
    assert grant(admin, "test:group/ops", "tenant-viewer", "psi").status == 201
    assert grant(admin, "other:group/dev", "tenant-viewer", "psi").status == 201
    assert admin.as_("ann", groups=["/ops"]).get("/v1/tenants/psi").status == 200
    assert admin.as_("bob", groups=["dev"]).get("/v1/tenants/psi").status == 404


def test_the_same_again_is_the_same_binding(admin: Api) -> None:
    make(admin, "psi")
    first = grant(admin, "test:ann", "tenant-viewer", "psi")
    repeated = grant(admin, "test:ann", "tenant-viewer", "psi")
    assert (repeated.status, repeated.headers["canton-unchanged"], repeated.json) == (200, "true", first.json)
    assert grant(admin, "test:ann", "tenant-operator", "psi").status == 201
    end = hence(600)
    ended = grant(admin, "test:ann", "tenant-viewer", "psi", until=end)
    assert (ended.status, ended.json["id"], ended.json["until"]) == (200, first.json["id"], end)
    assert "canton-unchanged" not in ended.headers
    assert grant(admin, "test:ann", "auditor", None).status == 201
    assert grant(admin, "test:ann", "auditor", None).headers["canton-unchanged"] == "true"


def test_equal_grants_at_the_same_moment_are_one(admin: Api) -> None:
    replies: list[Reply] = []
    threads = [Thread(target=lambda: replies.append(grant(admin, "test:ann", "auditor", None))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(reply.status for reply in replies) == [200, 200, 200, 200, 200, 201]
    assert len(admin.get("/v1/bindings?subject=test:ann").json["items"]) == 1


def test_a_role_ends_at_its_end(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:ann", "tenant-viewer", "psi", until=hence(3600))
    ann = admin.as_("ann")
    assert ann.get("/v1/tenants/psi").status == 200
    with served_with(admin, clock=lambda: system_clock() + 3601 * SECOND) as later:
        assert later.as_("ann").get("/v1/tenants/psi").status == 404


def test_a_role_that_ends_while_a_request_is_on_its_way_changes_nothing(admin: Api) -> None:
    """A body may take 20 s to arrive, and a change waits for its turn."""
    make(admin, "psi")
    grant(admin, "test:ann", "tenant-admin", "psi", until=hence(3600))
    account = {"name": "ci", "tenant": "psi", "permissions": ["tenant.read", "tenant.update"]}
    path = admin.post("/v1/service-accounts", account).headers["location"]
    token = admin.post(f"{path}/tokens", {"ttl": 3600}).json["token"]
    ann, ci = admin.as_("ann"), replace(admin, token=token)
    assert ann.get("/v1/whoami").status == 200
    for caller, looks, code in ((ann, 1, "forbidden"), (ci, 2, "token-expired")):
        instants = chain(repeat(0, looks), repeat(3601 * SECOND))
        with served_with(admin, clock=lambda instants=instants: system_clock() + next(instants)) as later:
            late = replace(later, token=caller.token).call("PATCH", "/v1/tenants/psi", {"description": "late"})
        assert late.code == code
    assert admin.get("/v1/tenants/psi").json["description"] == ""
    # Nor is it done by another role than the one that was looked at first, and that the audit would name.
    grant(admin, "test:ann", "provider-admin", None, until=hence(3600))
    grant(admin, "test:ann", "tenant-admin", "psi")
    instants = chain([0], repeat(3601 * SECOND))
    with served_with(admin, clock=lambda: system_clock() + next(instants)) as later:
        mixed = replace(later, token=ann.token).call("PATCH", "/v1/tenants/psi", {"description": "late"})
    assert (mixed.status, mixed.code) == (409, "conflict")


def test_an_end_must_be_to_come(admin: Api) -> None:
    make(admin, "psi")
    for until in ("2020-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2027-02-30", 7):
        refusal = grant(admin, "test:ann", "tenant-viewer", "psi", until=until)
        assert (refusal.status, refusal.code) == (400, "invalid-request"), until
    over = grant(admin, "test:ann", "tenant-viewer", "psi", until="2020-01-01T00:00:00Z").json["detail"]
    assert over == "until is 2020-01-01T00:00:00Z, which is in the past; give a time in the future"


def test_no_caller_grants_more_than_they_hold(admin: Api) -> None:
    make(admin, "psi", "cscs")
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    assert grant(ann, "test:bob", "tenant-admin", "psi").status == 201
    refusal = grant(ann, "test:ann", "provider-admin", None)
    assert (refusal.status, refusal.code, refusal.json["details"]["rule"]) == (403, "forbidden", "not-granted")
    assert grant(ann, "test:ann", "tenant-viewer", "cscs").code == "unknown-tenant"
    own = custom(
        "welcome-desk", "tenant", "lets people in", ["tenant.read", "member.read", "member.grant", "node.read"]
    )
    with served_with(admin, roles={**BUILTIN, own.name: own}) as server:
        assert grant(server, "test:desk", "welcome-desk", "psi").status == 201
        desk = server.as_("desk")
        assert grant(desk, "test:eve", "welcome-desk", "psi").status == 201
        refusal = grant(desk, "test:desk", "tenant-operator", "psi")
    assert (refusal.status, refusal.code) == (403, "forbidden")
    details = refusal.json["details"]
    assert (details["rule"], details["permission"], details["tenant"]) == ("exceeds-own", "member.grant", "psi")
    assert "node.power" in details["beyond"]
    assert "node.read" not in details["beyond"]
    assert admin.get("/v1/bindings?subject=test:desk&role=tenant-operator").json["items"] == []


def test_no_caller_grants_for_longer_than_they_hold(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:ann", "tenant-admin", "psi", until=hence(3600))
    ann = admin.as_("ann")
    for refusal in (grant(ann, "test:ann", "tenant-admin", "psi"), grant(ann, "test:bob", "tenant-viewer", "psi")):
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "exceeds-own")
    assert grant(ann, "test:bob", "tenant-viewer", "psi", until=hence(3700)).status == 403
    assert grant(ann, "test:bob", "tenant-viewer", "psi", until=hence(3500)).status == 201


def test_a_role_must_exist_and_fit_its_place(admin: Api) -> None:
    make(admin, "psi")
    for role, tenant, message in (
        ("provider-admin", "psi", "leave the tenant null"),
        ("tenant-admin", None, "name it"),
        ("tenant-admni", "psi", 'did you mean "tenant-admin"?'),
        ("zzz", "psi", "there are provider-admin"),
        ("Tenant", "psi", "body.role"),
    ):
        refusal = grant(admin, "test:ann", role, tenant)
        assert (refusal.status, refusal.code) == (400, "invalid-request")
        assert message in refusal.json["detail"]


def test_a_role_in_an_absent_tenant_is_not_granted(admin: Api) -> None:
    assert grant(admin, "test:ann", "tenant-viewer", "none").code == "unknown-tenant"


SUBJECTS: tuple[Any, ...] = (
    "ann",
    ":ann",
    "test:",
    "Test:ann",
    "test:group/",
    "test:group//ops",
    "test:a/b",
    "test:a b",
    "test:ann\n",
    "test:ann\x00",
    "test:group/\ud800",
    "test:group/a\u202eb",
    "test:group/a\u3164",
    "test:group/a\U000e0100",
    "test:" + "a" * 129,
    "test:group/" + "a" * 201,
    "service:psi/ci",
    "service:ci",
    7,
    None,
)


def test_an_impossible_subject_is_refused(admin: Api) -> None:
    for subject in SUBJECTS:
        refusal = grant(admin, subject, "auditor", None)
        assert (refusal.status, refusal.code) == (400, "invalid-request"), subject
    assert admin.get("/v1/bindings").json["items"] == []


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_subject_is_of_an_issuer_that_is_trusted(admin: Api) -> None:
    settings = admin.services.settings
    embedded = replace(settings.embedded_issuer, enabled=True)
    with served_with(
        admin, settings=replace(settings, issuers={"hpc": issuer_entry("hpc")}, embedded_issuer=embedded)
    ) as server:
        assert grant(server, "hpc:ann", "auditor", None).status == 201
        assert grant(server, f"{embedded.name}:ann", "auditor", None).status == 201
        refusal = grant(server, "hcp:ann", "auditor", None)
        assert (refusal.status, refusal.code) == (400, "invalid-request")
        assert "hpc" in refusal.json["detail"]


def test_lists_show_permitted_rows_that_match_the_filters(admin: Api) -> None:
    make(admin, "psi", "cscs")
    for subject, role, tenant in (
        ("test:ann", "tenant-admin", "psi"),
        ("test:ann", "tenant-viewer", "cscs"),
        ("test:bob", "tenant-viewer", "psi"),
        ("test:cat", "auditor", None),
    ):
        grant(admin, subject, role, tenant)

    def listed(api: Api, query: str = "") -> list[tuple[str, str, str | None]]:
        reply = api.get(f"/v1/bindings{query}")
        Items[Binding].model_validate_json(reply.text)
        return sorted(
            ((binding["subject"], binding["role"], binding["tenant"]) for binding in reply.json["items"]), key=str
        )

    assert len(listed(admin)) == 4
    assert listed(admin, "?provider=true") == [("test:cat", "auditor", None)]
    assert len(listed(admin, "?provider=false")) == 4
    assert listed(admin, "?tenant=psi&role=tenant-viewer") == [("test:bob", "tenant-viewer", "psi")]
    assert len(listed(admin, "?subject=test:ann")) == 2
    member = admin.as_("bob")
    assert {tenant for _, _, tenant in listed(member)} == {"psi"}
    for foreign in ("?tenant=cscs", "?tenant=none", "?provider=true", "?subject=test:cat"):
        assert listed(member, foreign) == []
    assert listed(admin.as_("eve")) == []
    for wrong in ("?tenant=%00", "?role=%00", "?subject=%00", "?provider=1", "?sort=role"):
        assert admin.get(f"/v1/bindings{wrong}").code == "invalid-request"


def test_members_are_the_bindings_of_each(admin: Api) -> None:
    make(admin, "psi", "cscs")
    for name in ("ann", "bob", "cat"):
        for role in ("tenant-viewer", "tenant-operator"):
            grant(admin, f"test:{name}", role, "psi")
    grant(admin, "test:dan", "tenant-viewer", "cscs")
    whole = admin.as_("ann").get("/v1/tenants/psi/members")
    Items[Member].model_validate_json(whole.text)
    assert [(member["subject"], [row["role"] for row in member["roles"]]) for member in whole.json["items"]] == [
        (f"test:{name}", ["tenant-operator", "tenant-viewer"]) for name in ("ann", "bob", "cat")
    ]
    first = admin.get("/v1/tenants/psi/members?limit=2&sort=-subject").json
    second_page = admin.get(f"/v1/tenants/psi/members?limit=2&sort=-subject&after={first['next']}").json
    assert [member["subject"] for member in first["items"] + second_page["items"]] == [
        "test:cat",
        "test:bob",
        "test:ann",
    ]
    binding = whole.json["items"][0]["roles"][0]["binding"]
    assert admin.get(f"/v1/bindings/{binding}").json["role"] == "tenant-operator"


def test_a_foreign_object_answers_as_an_absent_one(admin: Api) -> None:
    make(admin, "psi", "cscs")
    foreign = grant(admin, "test:dan", "tenant-viewer", "cscs").json["id"]
    at_provider = grant(admin, "test:cat", "auditor", None).json["id"]
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    for method in ("GET", "DELETE"):
        absent = ann.call(method, f"/v1/bindings/{ABSENT}", reason="x")
        assert (absent.status, absent.code) == (404, "unknown-binding")
        for binding_id in (foreign, at_provider):
            reply = ann.call(method, f"/v1/bindings/{binding_id}", reason="x")
            assert reply.status == 404
            assert without(reply.json, binding_id) == without(absent.json, ABSENT)
    one, unknown = grant(ann, "test:ann", "tenant-viewer", "cscs"), grant(ann, "test:ann", "tenant-viewer", "none")
    assert one.status == 404
    assert without(one.json, "cscs") == without(unknown.json, "none")
    one, unknown = ann.get("/v1/tenants/cscs/members"), ann.get("/v1/tenants/none/members")
    assert one.status == 404
    assert without(one.json, "cscs") == without(unknown.json, "none")


def test_what_is_seen_but_not_allowed_is_forbidden(admin: Api) -> None:
    make(admin, "psi")
    binding_id = grant(admin, "test:bob", "tenant-viewer", "psi").json["id"]
    ann = admin.as_("ann", "canton-tenant-operator:psi")
    assert ann.get(f"/v1/bindings/{binding_id}").status == 200
    for refusal in (
        grant(ann, "test:ann", "tenant-viewer", "psi"),
        ann.call("DELETE", f"/v1/bindings/{binding_id}", reason="x"),
    ):
        assert (refusal.status, refusal.code, refusal.json["details"]["tenant"]) == (403, "forbidden", "psi")


def test_a_tenant_with_bindings_is_not_deleted(admin: Api) -> None:
    make(admin, "psi")
    with admin.services.database.write() as connection:
        over = bindings.Grant("test:ann", "tenant-viewer", "psi", system_clock() - SECOND)
        bindings.grant(connection, over, "test:root", "")
    refusal = admin.call("DELETE", "/v1/tenants/psi", reason="over")
    assert (refusal.code, refusal.json["details"]) == ("not-empty", {"tenant": "psi", "bindings": 1})
    assert 'tenant "psi" still has 1 binding; first: ' in refusal.json["detail"]
