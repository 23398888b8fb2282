"""Tenants through the API: made, seen, suspended, resumed and deleted, and what the audit says of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from api.conftest import Api, serving
from canton.api.services import Services
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.policy.roles import BUILTIN, custom
from canton.store import audit
from canton.store.inventory import nodes
from canton.store.listing import Window
from tokens import Mint


def make(admin: Api, *names: str) -> None:
    for name in names:
        assert admin.post("/v1/tenants", {"name": name}).status == 201


def test_a_tenant_is_made_and_shown(admin: Api) -> None:
    reply = admin.post("/v1/tenants", {"name": "psi", "description": "Paul Scherrer Institute"})
    assert reply.status == 201
    assert reply.headers["location"] == "/v1/tenants/psi"
    assert {**reply.json, "created_at": "…"} == {
        "name": "psi",
        "description": "Paul Scherrer Institute",
        "state": "active",
        "nodes": 0,
        "version": 1,
        "created_at": "…",
    }
    assert admin.get("/v1/tenants/psi").json == reply.json
    assert admin.get("/v1/tenants").json == {"items": [reply.json], "next": None}


def test_a_name_that_is_taken_is_said_to_exist_where_that_may_be_seen(services: Services, tokens: Mint) -> None:
    blind = custom("founder", "provider", "", ["tenant.create"])
    with serving(replace(services, roles={**BUILTIN, "founder": blind}), tokens) as api:
        admin = api.as_("root", "canton-provider-admin")
        make(admin, "psi", "cscs")
        assert admin.call("DELETE", "/v1/tenants/cscs", reason="x").status == 204
        admin.post("/v1/bindings", {"subject": "test:fay", "role": "founder", "tenant": None})
        replies = {
            (caller, name): api_of.post("/v1/tenants", {"name": name}).json["detail"]
            for caller, api_of in (("root", admin), ("fay", api.as_("fay")))
            for name in ("psi", "cscs")
        }
    assert replies["root", "psi"] == 'tenant "psi" exists; see it with: canton tenant show psi'
    for case, name in (("root", "cscs"), ("fay", "psi"), ("fay", "cscs")):
        assert replies[case, name].startswith(f'the name "{name}" is or was a tenant\'s')


def test_members_see_their_own_and_strangers_nothing(admin: Api) -> None:
    make(admin, "psi", "cscs")
    member = admin.as_("ann", "canton-tenant-operator:psi")
    assert [tenant["name"] for tenant in member.get("/v1/tenants").json["items"]] == ["psi"]
    assert admin.as_("eve").get("/v1/tenants").json["items"] == []


def test_a_foreign_tenant_answers_as_an_absent_one(admin: Api) -> None:
    make(admin, "psi", "cscs")
    member = admin.as_("ann", "canton-tenant-operator:psi")
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/suspend")):
        body = {"description": "x"} if method == "PATCH" else None
        foreign = member.call(method, f"/v1/tenants/cscs{path}", body, reason="x")
        absent = member.call(method, f"/v1/tenants/none{path}", body, reason="x")
        assert foreign.status == absent.status == 404
        assert without(foreign.json, "cscs") == without(absent.json, "none")


def without(problem: dict[str, object], name: str) -> str:
    return str({key: value for key, value in problem.items() if key != "request"}).replace(name, "…")


def test_what_is_seen_but_not_allowed_is_forbidden_with_the_rule(admin: Api) -> None:
    make(admin, "psi")
    refusal = admin.as_("ann", "canton-tenant-operator:psi").call("DELETE", "/v1/tenants/psi", reason="x")
    assert (refusal.status, refusal.code) == (403, "forbidden")
    assert refusal.json["details"] == {"permission": "tenant.delete", "rule": "not-granted", "tenant": "psi"}


def test_suspended_members_see_and_change_nothing(admin: Api) -> None:
    make(admin, "psi")
    member = admin.as_("ann", "canton-tenant-admin:psi")
    assert member.call("PATCH", "/v1/tenants/psi", {"description": "one"}).status == 200
    assert admin.post("/v1/tenants/psi/suspend").json["state"] == "suspended"
    refusal = member.call("PATCH", "/v1/tenants/psi", {"description": "two"})
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "tenant-suspended")
    assert member.get("/v1/tenants/psi").json["description"] == "one"
    assert admin.post("/v1/tenants/psi/resume").json["state"] == "active"
    assert member.call("PATCH", "/v1/tenants/psi", {"description": "two"}).status == 200


def test_doing_nothing_is_success_and_said(admin: Api) -> None:
    make(admin, "psi")
    first = admin.post("/v1/tenants/psi/suspend")
    second = admin.post("/v1/tenants/psi/suspend")
    assert (second.status, second.headers["canton-unchanged"]) == (200, "true")
    assert "canton-unchanged" not in first.headers
    assert second.json == first.json


def test_a_tenant_with_nodes_is_not_deleted(admin: Api) -> None:
    make(admin, "psi")
    with admin.services.database.write() as connection:
        nodes.add(connection, [Node("x1000c0s0b0n0", 1, NodeState.ASSIGNED, "psi", 1)])
    refusal = admin.call("DELETE", "/v1/tenants/psi", reason="contract ended")
    assert (refusal.status, refusal.code, refusal.json["details"]) == (409, "not-empty", {"tenant": "psi", "nodes": 1})
    assert "canton node release @psi --reason '…'" in refusal.json["detail"]
    assert admin.get("/v1/tenants/psi").status == 200


def test_a_deleted_tenant_is_gone_and_its_name_stays_taken(admin: Api) -> None:
    make(admin, "psi")
    assert admin.call("DELETE", "/v1/tenants/psi", reason="contract ended").status == 204
    assert admin.get("/v1/tenants/psi").code == "unknown-tenant"
    assert admin.get("/v1/tenants").json["items"] == []
    assert admin.post("/v1/tenants", {"name": "psi"}).code == "already-exists"


@pytest.mark.parametrize("letter", ["x", "ж", "字", "𝄞"])
def test_a_reason_may_be_as_long_in_every_script(admin: Api, letter: str) -> None:
    make(admin, "psi")
    assert admin.call("DELETE", "/v1/tenants/psi", reason=letter * 501).code == "invalid-request"
    assert admin.call("DELETE", "/v1/tenants/psi", reason=letter * 500).status == 204


@pytest.mark.parametrize("nothing", ["\u3164", "\u2800\u2800", "\ufe0f"])
def test_an_invisible_reason_is_none(admin: Api, nothing: str) -> None:
    make(admin, "psi")
    refusal = admin.call("DELETE", "/v1/tenants/psi", reason=nothing)
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    assert admin.get("/v1/tenants/psi").status == 200


def test_deleting_needs_a_reason(admin: Api) -> None:
    make(admin, "psi")
    assert admin.call("DELETE", "/v1/tenants/psi").code == "reason-required"
    assert admin.get("/v1/tenants/psi").status == 200


def test_a_version_that_moved_is_not_overwritten(admin: Api) -> None:
    make(admin, "psi")
    tag = admin.get("/v1/tenants/psi").headers["etag"]
    first = admin.call("PATCH", "/v1/tenants/psi", {"description": "one"}, If_Match=tag)
    second = admin.call("PATCH", "/v1/tenants/psi", {"description": "two"}, If_Match=tag)
    assert (first.status, second.status, second.code) == (200, 412, "version-mismatch")
    assert admin.get("/v1/tenants/psi", If_None_Match=first.headers["etag"]).status == 304


def test_the_same_key_gives_the_first_answer_again(admin: Api) -> None:
    first = admin.post("/v1/tenants", {"name": "psi"}, Idempotency_Key="k")
    repeated = admin.post("/v1/tenants", {"name": "psi"}, Idempotency_Key="k")
    assert (repeated.status, repeated.json, repeated.headers["location"]) == (
        201,
        first.json,
        first.headers["location"],
    )
    assert admin.post("/v1/tenants", {"name": "cscs"}, Idempotency_Key="k").code == "idempotency-key-reused"


@pytest.mark.parametrize("name", ["PSI", "p", "psi_1", "-psi", "psi-", "a" * 33, "psi\n", "../x", ""])
def test_a_wrong_name_is_refused_with_where_it_is(admin: Api, name: str) -> None:
    refusal = admin.post("/v1/tenants", {"name": name})
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    assert refusal.json["details"]["errors"][0]["where"] == "body.name"


def test_pages_follow_each_other_without_gap_or_double(admin: Api) -> None:
    names = sorted(f"tenant-{n}" for n in range(7))
    make(admin, *names)
    for sort, expected in (("name", names), ("-name", names[::-1]), ("created_at", names)):
        listed_names: list[str] = []
        cursor = ""
        for _ in range(4):
            page = admin.get(f"/v1/tenants?limit=3&sort={sort}&fields=name{cursor}").json
            listed_names += [tenant["name"] for tenant in page["items"]]
            if page["next"] is None:
                break
            cursor = f"&after={page['next']}"
        assert listed_names == expected
        assert admin.get(f"/v1/tenants?limit=3&sort=state{cursor}").code == "invalid-request"
        assert admin.get(f"/v1/tenants?limit=3&state=active&sort={sort}{cursor}").code == "invalid-cursor"


def test_granted_and_refused_changes_are_in_the_audit(admin: Api) -> None:
    make(admin, "psi")
    admin.as_("eve").call("DELETE", "/v1/tenants/psi", reason="for fun")
    admin.call("DELETE", "/v1/tenants/none", reason="tidying")
    with admin.services.database.read() as connection:
        records = audit.page(connection, None, [], Window(10, "seq", descending=True)).rows
        audit.verify(connection)
    audited = [(row["actor"], row["action"], row["reason"], json.loads(row["details"])) for row in records]
    outcomes = [(actor, action, reason, d["decision"], d["rule"], d["outcome"]) for actor, action, reason, d in audited]
    assert outcomes == [
        ("test:root", "tenant.delete", "tidying", "granted", "provider:provider-admin", "unknown-tenant"),
        ("test:eve", "tenant.delete", "for fun", "refused", "no-bindings", "refused"),
        ("test:root", "tenant.create", "a test", "granted", "provider:provider-admin", "done"),
    ]
    assert all(details["request"] for *_, details in audited)


def test_a_deleted_tenant_is_gone_for_members_by_claim_too(admin: Api) -> None:
    """A token may name the tenant for years; audit, events and everything else answer as if it had never been."""
    make(admin, "psi", "cscs")
    roles = ("canton-tenant-admin:psi", "canton-tenant-viewer:cscs")
    ann = admin.as_("ann", *roles)
    assert "psi" in {record["details"]["tenant"] for record in ann.get("/v1/audit").json["items"]}
    assert admin.call("DELETE", "/v1/tenants/psi", reason="contract ended").status == 204
    for member in (ann, admin.as_("ann", roles[0])):
        for noun in ("audit", "events", "operations", "plans", "bindings", "service-accounts", "approvals", "nodes"):
            answer = member.get(f"/v1/{noun}?tenant=psi" if noun in ("audit", "events") else f"/v1/{noun}")
            assert '"psi"' not in answer.text, noun
        assert {binding["tenant"] for binding in member.get("/v1/whoami").json["bindings"]} <= {"cscs"}
        assert member.get("/v1/can-i?permission=audit.read&tenant=psi").json["allowed"] is False
    assert ann.get("/v1/events").status == 200
    assert admin.as_("ann", roles[0]).call("GET", "/v1/events", Accept="text/event-stream").status == 403
    recreated = admin.post("/v1/tenants", {"name": "psi"})
    assert recreated.code == "already-exists", (
        "its name is never given again, so no new member reads what is the old one's"
    )
    assert "psi" in {record["details"].get("tenant") for record in admin.get("/v1/audit").json["items"]}
