"""Quotas through the API: set by the provider, seen by the tenant, and what they stop."""

from __future__ import annotations

from typing import Any

from api.conftest import Api, Reply
from api.test_tenants import make, without
from canton.api.v1.quotas import Quota

NONE = {"nodes": None, "open_operations": None, "service_accounts": None}


def put(api: Api, tenant: str, **limits: Any) -> Reply:
    return api.call("PUT", f"/v1/tenants/{tenant}/quota", NONE | limits, reason="a test")


def test_without_a_quota_there_is_no_limit(admin: Api) -> None:
    make(admin, "psi")
    reply = admin.get("/v1/tenants/psi/quota")
    Quota.model_validate_json(reply.text)
    used = {"nodes": 0, "open_operations": 0, "service_accounts": 0}
    assert reply.json == {"tenant": "psi", **NONE, "used": used, "version": 0}
    assert reply.headers["etag"] == '"0"'


def test_a_quota_is_set_by_who_read_it(admin: Api) -> None:
    make(admin, "psi")
    first = admin.call("PUT", "/v1/tenants/psi/quota", NONE | {"nodes": 5}, If_Match='"0"')
    assert (first.status, first.json["nodes"], first.json["version"], first.headers["etag"]) == (200, 5, 1, '"1"')
    late = admin.call("PUT", "/v1/tenants/psi/quota", NONE | {"nodes": 6}, If_Match='"0"')
    assert (late.status, late.code) == (412, "version-mismatch")
    repeated = put(admin, "psi", nodes=5)
    assert (repeated.status, repeated.headers["canton-unchanged"], repeated.json) == (200, "true", first.json)
    lifted = put(admin, "psi")
    assert (lifted.json["nodes"], lifted.json["version"]) == (None, 2)
    assert admin.get("/v1/tenants/psi/quota").json == lifted.json


def test_a_quota_below_what_is_there_only_stops_more(admin: Api) -> None:
    make(admin, "psi")
    account = {"tenant": "psi", "permissions": ["node.read"]}
    for name in ("one", "two"):
        assert admin.post("/v1/service-accounts", {"name": name, **account}).status == 201
    lowered = put(admin, "psi", service_accounts=1)
    assert (lowered.status, lowered.json["used"]["service_accounts"]) == (200, 2)
    refusal = admin.post("/v1/service-accounts", {"name": "three", **account})
    assert (refusal.status, refusal.code) == (409, "quota-exceeded")
    assert refusal.json["details"] == {"tenant": "psi", "kind": "service_accounts", "limit": 1, "used": 2}
    assert len(admin.get("/v1/service-accounts").json["items"]) == 2
    put(admin, "psi", service_accounts=3)
    assert admin.post("/v1/service-accounts", {"name": "three", **account}).status == 201


def test_members_see_their_quota_and_do_not_set_it(admin: Api) -> None:
    make(admin, "psi", "cscs")
    put(admin, "psi", nodes=5)
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    assert ann.get("/v1/tenants/psi/quota").json["nodes"] == 5
    refusal = put(ann, "psi", nodes=500)
    assert (refusal.status, refusal.code) == (403, "forbidden")
    assert refusal.json["details"] == {"permission": "quota.set", "rule": "not-granted", "tenant": "psi"}
    for method, body in (("GET", None), ("PUT", NONE)):
        foreign = ann.call(method, "/v1/tenants/cscs/quota", body)
        absent = ann.call(method, "/v1/tenants/none/quota", body)
        assert foreign.status == absent.status == 404
        assert without(foreign.json, "cscs") == without(absent.json, "none")


def test_a_deleted_tenant_has_no_quota(admin: Api) -> None:
    make(admin, "psi")
    put(admin, "psi", nodes=5)
    assert admin.call("DELETE", "/v1/tenants/psi", reason="over").status == 204
    assert admin.get("/v1/tenants/psi/quota").code == "unknown-tenant"
    assert put(admin, "psi", nodes=6).code == "unknown-tenant"


WRONG: tuple[Any, ...] = (
    {"nodes": 5},
    NONE | {"nodes": -1},
    NONE | {"nodes": 2**31},
    NONE | {"nodes": "5"},
    NONE | {"nodes": 1.5},
    NONE | {"nodes": True},
    NONE | {"racks": 1},
    [],
    None,
)


def test_a_wrong_quota_is_refused(admin: Api) -> None:
    make(admin, "psi")
    for body in WRONG:
        assert admin.call("PUT", "/v1/tenants/psi/quota", body).code == "invalid-request", body
    assert admin.get("/v1/tenants/psi/quota").json["version"] == 0
