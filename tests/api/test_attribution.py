"""Who did something and why: null for readers who may not read the audit of the tenant."""

from __future__ import annotations

from typing import Any

import pytest

from api.conftest import Api
from api.test_members import grant, served_with
from api.test_nodes import fill, xname
from canton.api.rendering.operations import Operation
from canton.api.v1.members import Binding
from canton.api.v1.service_accounts import ServiceAccount, Token
from canton.policy.roles import BUILTIN, custom

CAUSE = "a secret merger"
READERS = [("canton-tenant-viewer:psi", False), ("canton-tenant-operator:psi", True), ("canton-auditor", True)]


def cancelled_power_on(admin: Api, *roles: str) -> str:
    """The identifier of an operation of the tenant psi that root, with these roles, started and asked to stop."""
    fill(admin, {"psi": range(2)})
    root = admin.as_("root", *(roles or ("canton-provider-admin",)))
    queued = root.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}, CAUSE)
    assert queued.status == 202
    assert root.post(f"/v1/operations/{queued.json['id']}/cancel", None, CAUSE).status == 202
    return str(queued.json["id"])


def one_item(api: Api, path: str) -> dict[str, Any]:
    (item,) = api.get(path).json["items"]
    return dict(item)


@pytest.mark.parametrize(("role", "attributed"), READERS)
def test_an_operation_says_who_and_why_to_readers_of_the_audit(admin: Api, role: str, attributed: bool) -> None:
    operation_id = cancelled_power_on(admin)
    reader = admin.as_("eve", role)
    reply = reader.get(f"/v1/operations/{operation_id}")
    Operation.model_validate_json(reply.text)
    document = reply.json
    assert document == one_item(reader, "/v1/operations")
    facts = (document["actor"], document["reason"], document["cancel_requested_by"])
    assert facts == (("test:root", CAUSE, "test:root") if attributed else (None, None, None))
    assert one_item(reader, "/v1/operations?fields=reason") == {"reason": CAUSE if attributed else None}


@pytest.mark.parametrize(("role", "attributed"), READERS)
def test_the_filter_by_actor_does_not_say_who_it_was(admin: Api, role: str, attributed: bool) -> None:
    cancelled_power_on(admin)
    operations = admin.as_("eve", role).get("/v1/operations?actor=test:root").json["items"]
    assert len(operations) == (1 if attributed else 0)


@pytest.mark.parametrize(("role", "attributed"), READERS)
def test_a_binding_says_who_and_why_to_readers_of_the_audit(admin: Api, role: str, attributed: bool) -> None:
    fill(admin, {"psi": range(1)})
    binding = grant(admin, "test:bob", "tenant-viewer", "psi").json
    reader = admin.as_("eve", role)
    document = reader.get(f"/v1/bindings/{binding['id']}").json
    assert document == one_item(reader, "/v1/bindings?tenant=psi")
    Binding.model_validate(document)
    assert (document["granted_by"], document["reason"]) == (("test:root", "a test") if attributed else (None, None))
    assert (document["subject"], document["role"]) == ("test:bob", "tenant-viewer")


def test_each_tenant_of_a_list_is_decided_on_its_own(admin: Api) -> None:
    fill(admin, {"psi": range(1), "cscs": range(1, 2)})
    for tenant in ("psi", "cscs"):
        assert grant(admin, "test:bob", "tenant-viewer", tenant).status == 201
    both = admin.as_("eve", "canton-tenant-viewer:psi", "canton-tenant-operator:cscs")
    granted_by = {item["tenant"]: item["granted_by"] for item in both.get("/v1/bindings").json["items"]}
    assert granted_by == {"psi": None, "cscs": "test:root"}


def test_the_answer_of_a_change_withholds_actor_and_reason_too(admin: Api) -> None:
    """A custom role may stop another person's operation, or grant a role again, without reading the audit."""
    operation_id = cancelled_power_on(admin, "canton-tenant-admin:psi")
    permissions = ["operation.read", "operation.cancel", "member.read", "member.grant", "tenant.read"]
    roles = {
        **BUILTIN,
        "stopper": custom("stopper", "tenant", "", permissions),
        "granted": custom("granted", "tenant", "", []),
    }
    with served_with(admin, roles=roles) as root:
        assert grant(root, "test:bob", "granted", "psi").status == 201
        assert grant(root, "test:eve", "stopper", "psi").status == 201
        eve = root.as_("eve")
        stopped = eve.post(f"/v1/operations/{operation_id}/cancel", None, "stop")
        repeated = grant(eve, "test:bob", "granted", "psi")
    assert (stopped.status, stopped.json["actor"], stopped.json["reason"]) == (202, None, None)
    assert (repeated.status, repeated.json["granted_by"], repeated.json["reason"]) == (200, None, None)


def test_an_account_and_its_tokens_say_who_made_them_to_readers_of_the_audit(admin: Api) -> None:
    fill(admin, {"psi": range(1)})
    account = {"name": "ci", "tenant": "psi", "permissions": ["node.read"]}
    path = f"/v1/service-accounts/{admin.post('/v1/service-accounts', account).json['id']}"
    assert admin.post(f"{path}/tokens", {}).status == 201
    lister = custom("lister", "tenant", "", ["service-account.read", "tenant.read"])
    with served_with(admin, roles={**BUILTIN, "lister": lister}) as root:
        assert grant(root, "test:eve", "lister", "psi").status == 201
        for reader, maker in ((root, "test:root"), (root.as_("eve"), None)):
            document = reader.get(path).json
            assert document == one_item(reader, "/v1/service-accounts")
            token = one_item(reader, f"{path}/tokens")
            ServiceAccount.model_validate(document)
            Token.model_validate(token)
            assert (document["created_by"], token["created_by"]) == (maker, maker)
