"""The audit through the API: which records a reader sees, the filters, and the fields of a record."""

from __future__ import annotations

import pytest

from api.conftest import Api


@pytest.fixture
def ann(admin: Api) -> Api:
    """An auditor, after two tenants were created and one request was refused."""
    for name in ("psi", "cscs"):
        assert admin.post("/v1/tenants", {"name": name}, f"contract of {name}").status == 201
    admin.as_("eve").post("/v1/tenants/psi/suspend", reason="for fun")
    return admin.as_("ann", "canton-tenant-admin:psi")


def listed(api: Api, query: str = "") -> list[tuple[str, str]]:
    return [(record["action"], record["subject"]) for record in api.get(f"/v1/audit{query}").json["items"]]


PSI, CSCS = ("tenant.create", "tenant:psi"), ("tenant.create", "tenant:cscs")
REFUSED = ("tenant.suspend", "POST /v1/tenants/psi/suspend")


def test_a_record_says_who_did_what_why_and_by_which_rule(admin: Api, ann: Api) -> None:
    record = admin.get("/v1/audit?subject=tenant:psi").json["items"][0]
    assert record.keys() == {"seq", "at", "actor", "action", "subject", "tenant", "reason", "details", "hash"}
    assert (record["seq"], record["actor"], record["tenant"]) == (1, "test:root", "psi")
    assert record["reason"] == "contract of psi"
    assert record["details"] == {
        "description": "",
        "permission": "tenant.create",
        "decision": "granted",
        "rule": "provider:provider-admin",
        "request": record["details"]["request"],
        "identity": "test:id-of-root",
        "client_request": "of-a-test",
        "outcome": "done",
        "tenant": "psi",
    }


def test_the_newest_comes_first_and_pages_follow_each_other(admin: Api, ann: Api) -> None:
    assert listed(admin) == [REFUSED, CSCS, PSI]
    assert listed(admin, "?sort=seq") == [PSI, CSCS, REFUSED]
    page = admin.get("/v1/audit?limit=2").json
    assert listed(admin, f"?limit=2&after={page['next']}") == [PSI]
    assert admin.get("/v1/audit?limit=1&fields=seq,actor").json["items"] == [{"seq": 3, "actor": "test:eve"}]


def test_filters(admin: Api, ann: Api) -> None:
    for query, expected in (
        ("?tenant=cscs", [CSCS]),
        ("?actor=test:eve", [REFUSED]),
        ("?action=tenant.create", [CSCS, PSI]),
        ("?subject=tenant:cscs", [CSCS]),
        ("?tenant=psi&action=tenant.create", [PSI]),
        ("?actor=unknown", []),
    ):
        assert listed(admin, query) == expected, query


def test_a_tenants_records_are_the_tenants_and_the_rest_the_providers(admin: Api, ann: Api) -> None:
    admin.post("/v1/sites", {"name": "alps"})
    assert listed(ann) == [PSI]
    assert listed(ann, "?tenant=cscs") == listed(ann, "?action=site.create") == []
    assert listed(admin.as_("vic", "canton-tenant-viewer:psi")) == listed(admin.as_("eve")) == []
    assert listed(admin.as_("aud", "canton-auditor"))[0][0] == "site.create"


@pytest.mark.parametrize("query", ["actor=%00", "subject=", "sort=at", "tenant=PSI", "limit=0", "fields=previous"])
def test_a_wrong_question_is_refused(admin: Api, query: str) -> None:
    assert admin.get(f"/v1/audit?{query}").code == "invalid-request"


def test_records_since_an_instant(admin: Api, ann: Api) -> None:
    at = {(it["action"], it["subject"]): it["at"] for it in admin.get("/v1/audit").json["items"]}
    assert listed(admin, f"?since={at[CSCS]}") == [REFUSED, CSCS]
    assert listed(admin, f"?since={at[CSCS]}&sort=seq&action=tenant.create") == [CSCS]
    assert listed(admin, "?since=2099-01-01T00:00:00Z") == []
    assert listed(ann, "?since=2020-01-01T00:00:00%2B01:00") == listed(ann)
    page = admin.get(f"/v1/audit?limit=1&since={at[CSCS]}").json
    assert listed(admin, f"?limit=1&since={at[CSCS]}&after={page['next']}") == [CSCS]
    assert admin.get("/v1/audit?since=2026-02-30T00:00:00Z").status == 400


def test_the_audit_of_a_tenant_does_not_name_the_people_of_another(admin: Api) -> None:
    for name in ("psi", "eth"):
        admin.post("/v1/tenants", {"name": name})
    stranger, viewer = admin.as_("eve", "canton-tenant-admin:eth"), admin.as_("vic", "canton-tenant-viewer:psi")
    for api in (stranger, viewer):
        api.call("PATCH", "/v1/tenants/psi", {"description": "x"}, reason="call me")
    records = admin.as_("pia", "canton-tenant-admin:psi").get("/v1/audit").json["items"]
    assert {record["actor"] for record in records} == {"test:root", "test:vic"}
    refusals = admin.get("/v1/audit?actor=test:eve").json["items"]
    assert [(record["tenant"], record["details"]["named_tenant"]) for record in refusals] == [(None, "psi")]
