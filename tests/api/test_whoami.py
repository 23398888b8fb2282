"""``whoami`` and ``can-i``: what a caller learns about itself, and what it must not learn about others."""

from __future__ import annotations

import time
from dataclasses import replace

from api.conftest import Api, serving
from api.test_tenants import make
from canton import __version__
from canton.api.services import Services
from canton.api.v1.whoami import CanI, Whoami
from canton.domain.timestamps import to_text
from canton.store.access import bindings
from canton.store.database import SECOND, system_clock
from tokens import Mint


def test_a_person_sees_their_roles_and_where_they_come_from(admin: Api) -> None:
    make(admin, "psi", "cscs")
    soon = system_clock() + 3600 * SECOND
    admin.post(
        "/v1/bindings", {"subject": "test:ann", "role": "tenant-admin", "tenant": "cscs", "until": to_text(soon)}
    )
    admin.post("/v1/bindings", {"subject": "test:group/ops", "role": "tenant-viewer", "tenant": "psi"})
    reply = admin.as_("ann", "canton-tenant-operator:psi", groups=["/ops"], name="Ann").get("/v1/whoami")
    Whoami.model_validate_json(reply.text)
    assert (reply.json["id"], reply.json["name"], reply.json["kind"]) == ("test:ann", "Ann", "person")
    assert reply.json["server"] == {"version": __version__, "issuers": []}
    assert sorted(reply.json["bindings"], key=str) == sorted(
        (
            {"role": "tenant-operator", "tenant": "psi", "source": "claim", "until": None},
            {"role": "tenant-admin", "tenant": "cscs", "source": "grant", "until": to_text(soon)},
            {"role": "tenant-viewer", "tenant": "psi", "source": "grant", "until": None},
        ),
        key=str,
    )


def test_a_role_that_has_run_out_is_none(admin: Api) -> None:
    make(admin, "psi")
    with admin.services.database.write() as connection:
        over = bindings.Grant("test:ann", "tenant-admin", "psi", system_clock() - SECOND)
        bindings.grant(connection, over, "test:root", "")
    ann = admin.as_("ann")
    assert ann.get("/v1/whoami").json["bindings"] == []
    assert ann.get("/v1/tenants/psi").status == 404


def test_a_group_whose_name_no_database_can_store_gives_no_binding_and_no_error(admin: Api) -> None:
    reply = admin.as_("ann", groups=["a\x00b", "ops"]).get("/v1/whoami")
    assert (reply.status, reply.json["bindings"]) == (200, [])


def test_a_stranger_is_a_person_without_roles(api: Api) -> None:
    identity = api.as_("eve").get("/v1/whoami").json
    assert (identity["id"], identity["bindings"]) == ("test:eve", [])
    assert identity["expires_at"] > to_text(int(time.time()) * SECOND)


def test_without_a_token_every_question_is_refused(api: Api) -> None:
    for path in ("/v1/whoami", "/v1/can-i?permission=tenant.read"):
        assert api.get(path).code == "not-authenticated"


def test_can_i_says_by_which_rule_and_who_could(admin: Api) -> None:
    make(admin, "psi")
    reply = admin.get("/v1/can-i?permission=tenant.delete&tenant=psi")
    CanI.model_validate_json(reply.text)
    assert (reply.json["allowed"], reply.json["rule"]) == (True, "provider:provider-admin")
    ann = admin.as_("ann", "canton-tenant-operator:psi")
    may = ann.get("/v1/can-i?permission=node.power&tenant=psi").json
    assert (may["allowed"], may["rule"], may["tenant"]) == (True, "tenant:tenant-operator", "psi")
    may_not = ann.get("/v1/can-i?permission=tenant.delete&tenant=psi").json
    assert (may_not["allowed"], may_not["rule"]) == (False, "not-granted")
    assert "it takes provider-admin" in may_not["reason"]
    verdict = admin.as_("eve").get("/v1/can-i?permission=site.read").json
    assert (verdict["allowed"], verdict["rule"]) == (False, "no-bindings")


def test_can_i_in_a_foreign_tenant_is_as_in_an_absent_one(admin: Api) -> None:
    make(admin, "psi", "cscs")
    admin.post("/v1/tenants/cscs/suspend")
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    for permission in ("tenant.read", "node.power", "tenant.delete"):
        foreign = ann.get(f"/v1/can-i?permission={permission}&tenant=cscs")
        absent = ann.get(f"/v1/can-i?permission={permission}&tenant=none")
        assert foreign.json["allowed"] is False
        assert foreign.text.replace("cscs", "…") == absent.text.replace("none", "…")


def test_can_i_knows_that_a_tenant_is_suspended(admin: Api) -> None:
    make(admin, "psi")
    admin.post("/v1/tenants/psi/suspend")
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    change = ann.get("/v1/can-i?permission=node.power&tenant=psi").json
    assert (change["allowed"], change["rule"]) == (False, "tenant-suspended")
    assert ann.get("/v1/can-i?permission=node.read&tenant=psi").json["allowed"] is True
    assert admin.get("/v1/can-i?permission=node.power&tenant=psi").json["allowed"] is True


def test_a_wrong_question_is_refused_with_the_nearest_right_one(admin: Api) -> None:
    for query, message in (
        ("permission=tenant.delet", 'did you mean "tenant.delete"?'),
        ("permission=zzz", "GET /v1/roles"),
        ("permission=%00", "there is no permission"),
        ("permission=tenant.read&tenant=PSI", "query.tenant"),
        ("permission=tenant.read&tenant=%00", "query.tenant"),
        ("", "query.permission"),
    ):
        refusal = admin.get(f"/v1/can-i?{query}")
        assert (refusal.status, refusal.code) == (400, "invalid-request"), query
        assert message in refusal.json["detail"]


def test_can_i_says_what_else_a_change_takes(services: Services, tokens: Mint) -> None:
    policy = replace(services.settings.policy, two_person=("quota.set",))
    with serving(replace(services, settings=replace(services.settings, policy=policy)), tokens) as running:
        admin = running.as_("root", "canton-provider-admin")
        conditions = {
            permission: admin.get(f"/v1/can-i?permission={permission}").json
            for permission in ("quota.set", "member.revoke", "member.grant")
        }
    assert {name: (it["two_persons"], it["needs_reason"]) for name, it in conditions.items()} == {
        "quota.set": (True, False),
        "member.revoke": (False, True),
        "member.grant": (False, False),
    }


def test_can_i_knows_whether_a_role_may_be_given(admin: Api) -> None:
    make(admin, "psi")
    until = to_text(system_clock() + 3600 * SECOND)
    admin.post("/v1/bindings", {"subject": "test:ann", "role": "tenant-admin", "tenant": "psi", "until": until})
    ann, question = admin.as_("ann"), "/v1/can-i?permission=member.grant&tenant=psi&role=tenant-viewer"
    assert ann.get("/v1/can-i?permission=member.grant&tenant=psi").json["allowed"] is True
    for path, allowed in ((question, False), (f"{question}&until={until}", True)):
        decision = ann.get(path).json
        body = {"subject": "test:bob", "role": "tenant-viewer", "tenant": "psi"}
        granted = ann.post("/v1/bindings", body | ({"until": until} if allowed else {}))
        assert (decision["allowed"], granted.status) == (allowed, 201 if allowed else 403), decision
        assert allowed or (decision["rule"], decision["reason"] in granted.text) == ("exceeds-own", True)
    eve = admin.as_("eve").get(question).json
    assert (eve["allowed"], eve["rule"]) == (False, "no-bindings")


def test_can_i_takes_a_role_with_a_grant_only(admin: Api) -> None:
    for query in ("permission=tenant.read&role=auditor", "permission=member.grant&until=2099-01-01T00:00:00Z"):
        assert admin.get(f"/v1/can-i?{query}").code == "invalid-request"
    assert "no role" in admin.get("/v1/can-i?permission=member.grant&role=nix").text
