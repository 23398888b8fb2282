"""Service accounts through the API: what they may do, and that tokens end at their time or by revocation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.conftest import Api, Reply, serving
from api.test_tenants import make, without
from canton.api.rendering.documents import Items
from canton.api.v1.service_accounts import IssuedToken, ServiceAccount, Token
from canton.domain.timestamps import from_text, to_text
from canton.policy.roles import BUILTIN, custom
from canton.store import audit, outbox
from canton.store.database import SECOND, system_clock
from canton.store.listing import Window

READS = ["node.read", "tenant.read"]
ABSENT = "sa_" + "0" * 28


def create(api: Api, name: str, tenant: str | None, permissions: list[str], **more: Any) -> Reply:
    body = {"name": name, "tenant": tenant, "permissions": permissions, **more}
    return api.post("/v1/service-accounts", body)


def account(api: Api, tenant: str | None, permissions: list[str], name: str = "ci") -> str:
    reply = create(api, name, tenant, permissions)
    assert reply.status == 201, reply.text
    return f"/v1/service-accounts/{reply.json['id']}"


def issue(api: Api, path: str, **body: Any) -> Reply:
    return api.post(f"{path}/tokens", body)


def holding(api: Api, token: str) -> Api:
    return replace(api, token=token)


def speaking_for(api: Api, path: str, **body: Any) -> Api:
    return holding(api, issue(api, path, **body).json["token"])


def test_an_account_is_made_and_shown(admin: Api) -> None:
    make(admin, "psi")
    reply = create(admin, "ci", "psi", ["tenant.read", "node.read", "node.read"], description="nightly")
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/service-accounts/{reply.json['id']}")
    ServiceAccount.model_validate_json(reply.text)
    assert {**reply.json, "id": "…", "created_at": "…"} == {
        "id": "…",
        "name": "ci",
        "tenant": "psi",
        "permissions": READS,
        "description": "nightly",
        "created_by": "test:root",
        "created_at": "…",
        "version": 1,
    }
    shown_reply = admin.get(reply.headers["location"])
    assert shown_reply.json == reply.json
    assert admin.get(reply.headers["location"], If_None_Match=shown_reply.headers["etag"]).status == 304
    assert create(admin, "ci", "psi", READS).code == "already-exists"
    assert create(admin, "ci", None, READS).status == 201
    assert create(admin, "ci", None, READS).code == "already-exists"


def test_a_token_speaks_for_its_account_and_for_no_more(admin: Api) -> None:
    make(admin, "psi", "cscs")
    path = account(admin, "psi", READS)
    issued = issue(admin, path, ttl=60)
    assert issued.status == 201
    IssuedToken.model_validate_json(issued.text)
    assert 0 < from_text(issued.json["expires_at"]) - system_clock() <= 60 * SECOND
    ci = holding(admin, issued.json["token"])
    identity = ci.get("/v1/whoami").json
    assert (identity["id"], identity["kind"], identity["expires_at"]) == (
        "service:psi/ci",
        "service-account",
        issued.json["expires_at"],
    )
    assert identity["bindings"] == [{"role": "service-account", "tenant": "psi", "source": "account", "until": None}]
    assert [tenant["name"] for tenant in ci.get("/v1/tenants").json["items"]] == ["psi"]
    assert ci.get("/v1/tenants/cscs").status == 404
    assert ci.call("PATCH", "/v1/tenants/psi", {"description": "x"}).code == "forbidden"
    assert ci.get("/v1/service-accounts").json["items"] == []


def test_a_token_may_hold_less_than_its_account(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    narrow = speaking_for(admin, path, permissions=["node.read"])
    assert narrow.get("/v1/tenants/psi").status == 404
    beyond = issue(admin, path, permissions=["node.read", "node.power"])
    assert (beyond.status, beyond.json["details"]) == (400, {"permissions": ["node.power"]})
    assert issue(admin, path, permissions=["node.raed"]).json["detail"].endswith('did you mean "node.read"?')
    assert issue(admin, path, permissions=[]).code == "invalid-request"


def test_a_token_lasts_as_long_as_policy_lets_it(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    policy = admin.services.settings.policy
    usual = from_text(issue(admin, path).json["expires_at"]) - system_clock()
    assert (policy.token_ttl - 30) * SECOND < usual <= policy.token_ttl * SECOND
    assert admin.post(f"{path}/tokens").status == 201
    limit = int(policy.token_ttl_limit)
    assert issue(admin, path, ttl=limit).status == 201
    for wrong in (limit + 1, 0, -1, "60", 1.5, 10**20):
        assert issue(admin, path, ttl=wrong).code == "invalid-request", wrong


def test_a_token_that_has_run_out_is_told_so(admin: Api) -> None:
    make(admin, "psi")
    token = issue(admin, account(admin, "psi", READS), ttl=60).json["token"]
    later = replace(admin.services, clock=lambda: system_clock() + 61 * SECOND)
    with serving(later, admin.mint) as server:
        assert holding(server, token).get("/v1/whoami").code == "token-expired"
    forged = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in (forged, token[:-1], "canton_", "canton_x_y", token + "\u00e9"):
        assert holding(admin, wrong).get("/v1/whoami").code == "token-invalid"


def test_a_revoked_token_ends_at_once_and_the_others_go_on(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    one, two = issue(admin, path).json, issue(admin, path).json
    reply = admin.get(f"{path}/tokens")
    Items[Token].model_validate_json(reply.text)
    assert {token["id"] for token in reply.json["items"]} == {one["id"], two["id"]}
    assert one["token"] not in reply.text
    assert admin.call("DELETE", f"{path}/tokens/{one['id']}").status == 204
    assert holding(admin, one["token"]).get("/v1/whoami").code == "token-invalid"
    assert holding(admin, two["token"]).get("/v1/whoami").status == 200
    assert admin.call("DELETE", f"{path}/tokens/{one['id']}").code == "unknown-token"
    other_account = account(admin, "psi", READS, "other")
    assert admin.call("DELETE", f"{other_account}/tokens/{two['id']}").code == "unknown-token"
    assert holding(admin, two["token"]).get("/v1/whoami").status == 200


def test_deleting_an_account_ends_its_tokens(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    ci = speaking_for(admin, path)
    assert admin.call("DELETE", path).code == "reason-required"
    assert admin.call("DELETE", path, reason="x", If_Match='"9"').code == "version-mismatch"
    assert admin.call("DELETE", "/v1/tenants/psi", reason="x").json["details"]["service_accounts"] == 1
    assert admin.call("DELETE", path, reason="x").status == 204
    assert ci.get("/v1/whoami").code == "token-invalid"
    assert admin.get(path).code == "unknown-service-account"
    assert issue(admin, path).code == "unknown-service-account"
    assert admin.call("DELETE", "/v1/tenants/psi", reason="x").status == 204


def test_an_account_renews_itself_whatever_else_it_may_do(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    old, second = speaking_for(admin, path), speaking_for(admin, path)
    renewed = old.post(f"{path}/rotate")
    IssuedToken.model_validate_json(renewed.text)
    assert renewed.status == 201
    new = holding(admin, renewed.json["token"])
    assert new.get("/v1/whoami").status == 200
    for ended in (old, second):
        assert ended.get("/v1/whoami").code == "token-invalid"
    assert new.post(f"{path}/tokens").code == "unknown-service-account"
    elsewhere = account(admin, "psi", READS, "elsewhere")
    assert new.post(f"{elsewhere}/rotate").code == "unknown-service-account"


def test_with_an_overlap_the_old_token_goes_on_for_a_while(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    old = speaking_for(admin, path)
    new = admin.post(f"{path}/rotate", {"overlap": 30, "ttl": 600}).json
    assert old.get("/v1/whoami").status == 200
    ends = {token["id"]: from_text(token["expires_at"]) for token in admin.get(f"{path}/tokens").json["items"]}
    soon = system_clock() + 30 * SECOND
    assert sorted(end <= soon for end in ends.values()) == [False, True]
    assert ends[new["id"]] > soon


def test_a_narrow_token_does_not_become_a_wide_one(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", [*READS, "node.power", "service-account.token", "service-account.read"])
    narrow = speaking_for(admin, path, permissions=["node.read", "service-account.token"])
    refusal = issue(narrow, path, permissions=["node.power"])
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "exceeds-own")
    assert issue(narrow, path, permissions=["node.read"]).status == 201
    renewed = narrow.post(f"{path}/rotate").json
    assert renewed["permissions"] == ["node.read", "service-account.token"]


@pytest.mark.parametrize("overlap", [0, 5])
def test_a_narrow_token_does_not_end_a_wide_one(admin: Api, overlap: int) -> None:
    """Renewing one's own token needs no permission; ending another token does."""
    make(admin, "psi")
    path = account(admin, "psi", [*READS, "node.power"])
    wide, narrow, narrower = (
        speaking_for(admin, path, permissions=permissions) for permissions in (None, READS, READS[:1])
    )
    ends = {token["id"]: token["expires_at"] for token in admin.get(f"{path}/tokens").json["items"]}
    renewed = narrow.post(f"{path}/rotate", {"overlap": overlap})
    assert (renewed.status, wide.get("/v1/whoami").status) == (201, 200)
    unchanged = [
        token for token in admin.get(f"{path}/tokens").json["items"] if ends.get(token["id"]) == token["expires_at"]
    ]
    assert [token["permissions"] for token in unchanged] == [sorted([*READS, "node.power"])]
    if overlap == 0:
        assert {old.get("/v1/whoami").code for old in (narrow, narrower)} == {"token-invalid"}
    repeated = admin.post(f"{path}/rotate")
    assert repeated.json["permissions"] == sorted([*READS, "node.power"])
    assert wide.get("/v1/whoami").code == "token-invalid"


def seconds_left(reply: Reply) -> float:
    assert reply.status == 201, reply.text
    return (from_text(reply.json["expires_at"]) - system_clock()) / SECOND


def test_a_short_token_does_not_become_a_long_one(admin: Api) -> None:
    """Neither by rotation, nor by a rotation of the rotated, nor by a token that it issues."""
    make(admin, "psi")
    path = account(admin, "psi", [*READS, "service-account.token", "service-account.read"])
    short = speaking_for(admin, path, ttl=60)
    for refusal in (short.post(f"{path}/rotate", {"ttl": 61}), issue(short, path, ttl=61)):
        assert (refusal.status, refusal.code, refusal.json["details"]["ttl"]) == (400, "invalid-request", 60)
    assert seconds_left(issue(short, path)) <= 60
    renewed = short.post(f"{path}/rotate", {"overlap": 30})
    assert seconds_left(renewed) <= 60
    assert seconds_left(holding(admin, renewed.json["token"]).post(f"{path}/rotate")) <= 60
    long = speaking_for(admin, path, ttl=30 * 24 * 3600)
    assert 3000 < seconds_left(long.post(f"{path}/rotate")) <= 3600


def test_an_administrators_rotation_keeps_tokens_as_narrow_as_they_were(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", [*READS, "node.power"])
    assert admin.post(f"{path}/rotate").json["permissions"] == sorted([*READS, "node.power"])
    second_account = account(admin, "psi", [*READS, "node.power"], "other")
    issue(admin, second_account, permissions=["node.read"])
    assert admin.post(f"{second_account}/rotate").json["permissions"] == ["node.read"]


def test_no_caller_gives_an_account_or_a_token_more_than_they_hold(admin: Api) -> None:
    make(admin, "psi", "cscs")
    strong = account(admin, "psi", ["node.power"], "strong")
    names = ["tenant.read", "node.read", "service-account.create", "service-account.token", "service-account.read"]
    own = custom("pipelines", "tenant", "", names)
    with serving(replace(admin.services, roles={**BUILTIN, own.name: own}), admin.mint) as server:
        root = server.as_("root", "canton-provider-admin")
        root.post("/v1/bindings", {"subject": "test:ann", "role": "pipelines", "tenant": "psi"})
        ann = server.as_("ann")
        assert create(ann, "mine", "psi", ["node.read"]).status == 201
        for refusal in (
            create(ann, "more", "psi", ["node.read", "node.power"]),
            issue(ann, strong),
            ann.post(f"{strong}/rotate"),
        ):
            assert (refusal.status, refusal.code, refusal.json["details"]["rule"]) == (403, "forbidden", "exceeds-own")
            assert refusal.json["details"]["beyond"] == ["node.power"]
        assert create(ann, "mine", None, ["node.read"]).json["details"]["rule"] == "not-granted"
        assert create(ann, "mine", "cscs", ["node.read"]).code == "unknown-tenant"


def test_a_temporary_right_is_not_given_without_an_end(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    until = to_text(system_clock() + 3600 * SECOND)
    admin.post("/v1/bindings", {"subject": "test:ann", "role": "tenant-admin", "tenant": "psi", "until": until})
    ann = admin.as_("ann")
    assert create(ann, "mine", "psi", ["node.read"]).json["details"]["rule"] == "exceeds-own"
    # A token for a minute would do: it renews itself, for as long as policy lets any token last.
    for refusal in (issue(ann, path, ttl=7200), issue(ann, path, ttl=60), ann.post(f"{path}/rotate", {"ttl": 60})):
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "exceeds-own")
    assert admin.get(f"{path}/tokens").json["items"] == []


def test_an_account_of_a_tenant_cannot_hold_what_is_the_providers(admin: Api) -> None:
    make(admin, "psi")
    refusal = create(admin, "ci", "psi", ["node.read", "tenant.delete", "site.create"])
    assert (refusal.status, refusal.json["details"]) == (400, {"permissions": ["site.create", "tenant.delete"]})
    assert create(admin, "ci", None, ["tenant.delete"]).status == 201


def test_an_account_grants_no_more_than_it_holds(admin: Api) -> None:
    make(admin, "psi")
    ci = speaking_for(admin, account(admin, "psi", ["tenant.read", "member.grant", "service-account.create"]))
    grant = ci.post("/v1/bindings", {"subject": "test:eve", "role": "tenant-viewer", "tenant": "psi"})
    reply = create(ci, "child", "psi", ["node.power"])
    for refusal in (grant, reply):
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "exceeds-own")
    assert create(ci, "child", "psi", ["tenant.read"]).status == 201


def test_the_secret_is_shown_once_and_kept_nowhere(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", READS)
    first = admin.post(f"{path}/tokens", {}, Idempotency_Key="k")
    repeated = admin.post(f"{path}/tokens", {}, Idempotency_Key="k")
    assert first.json["token"].startswith("canton_tk_")
    assert repeated.json == {**first.json, "token": None}
    IssuedToken.model_validate_json(repeated.text)
    secret = first.json["token"][-43:]
    with admin.services.database.read() as connection:
        for table in ("audit", "event", "idempotency", "service_token"):
            rows = connection.exec_driver_sql(f"SELECT * FROM {table}").all()  # noqa: S608
            assert secret not in repr(rows), table
        events = outbox.read(connection, "psi", 0, 100)
        records = audit.page(connection, None, [], Window(100, "seq")).rows
    assert not [event for event in events if event.kind.startswith("service-account")]
    assert [row["action"] for row in records][-2:] == ["service-account.create", "service-account.token"]


def test_a_suspended_tenants_account_sees_and_changes_nothing(admin: Api) -> None:
    make(admin, "psi")
    path = account(admin, "psi", [*READS, "tenant.update"])
    ci = speaking_for(admin, path)
    admin.post("/v1/tenants/psi/suspend")
    assert ci.get("/v1/tenants/psi").status == 200
    refusal = ci.call("PATCH", "/v1/tenants/psi", {"description": "x"})
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "tenant-suspended")
    renewed = ci.post(f"{path}/rotate")
    assert (renewed.status, renewed.json["details"]["rule"]) == (403, "tenant-suspended")
    admin.post("/v1/tenants/psi/resume")
    assert ci.post(f"{path}/rotate").status == 201


def test_a_token_outlives_its_makers_role(admin: Api) -> None:
    make(admin, "psi")
    binding_id = admin.post("/v1/bindings", {"subject": "test:ann", "role": "tenant-admin", "tenant": "psi"}).json["id"]
    ann = admin.as_("ann")
    ci = speaking_for(ann, account(ann, "psi", READS))
    assert admin.call("DELETE", f"/v1/bindings/{binding_id}", reason="left").status == 204
    assert ci.get("/v1/tenants/psi").status == 200


def test_a_foreign_object_answers_as_an_absent_one(admin: Api) -> None:
    make(admin, "psi", "cscs")
    foreign = account(admin, "cscs", READS).rpartition("/")[2]
    token = issue(admin, f"/v1/service-accounts/{foreign}").json["id"]
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    for method, suffix in (
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("POST", "/rotate"),
        ("DELETE", f"/tokens/{token}"),
    ):
        foreign_reply = ann.call(method, f"/v1/service-accounts/{foreign}{suffix}", reason="x")
        absent = ann.call(method, f"/v1/service-accounts/{ABSENT}{suffix}", reason="x")
        assert foreign_reply.status == absent.status == 404
        assert without(foreign_reply.json, foreign) == without(absent.json, ABSENT)
    one, unknown = create(ann, "ci", "cscs", READS), create(ann, "ci", "none", READS)
    assert one.status == 404
    assert without(one.json, "cscs") == without(unknown.json, "none")
    assert ann.get("/v1/service-accounts?tenant=cscs").json == ann.get("/v1/service-accounts?tenant=none").json


def test_lists_are_filtered_and_come_in_pages(admin: Api) -> None:
    make(admin, "psi", "cscs")
    for name, tenant in (("aa", "psi"), ("bb", "psi"), ("cc", "psi"), ("dd", "cscs"), ("ee", None)):
        account(admin, tenant, READS, name)
    page = admin.get("/v1/service-accounts?tenant=psi&sort=-name&limit=2")
    Items[ServiceAccount].model_validate_json(page.text)
    second_page = admin.get(f"/v1/service-accounts?tenant=psi&sort=-name&limit=2&after={page.json['next']}").json
    assert [account_row["name"] for account_row in page.json["items"] + second_page["items"]] == ["cc", "bb", "aa"]
    ann = admin.as_("ann", "canton-tenant-operator:psi")
    assert [account_row["name"] for account_row in ann.get("/v1/service-accounts?sort=name").json["items"]] == [
        "aa",
        "bb",
        "cc",
    ]
    assert admin.as_("vic", "canton-tenant-viewer:psi").get("/v1/service-accounts").json["items"] == []


def test_a_wrong_account_is_refused(admin: Api) -> None:
    make(admin, "psi")
    for name, tenant, permissions, message in (
        ("C", "psi", READS, "body.name"),
        ("ci\x00", "psi", READS, "body.name"),
        ("ci", "PSI", READS, "body.tenant"),
        ("ci", "psi", [], "body.permissions"),
        ("ci", "psi", ["node.raed"], 'did you mean "node.read"?'),
        ("ci", "psi", ["\x00"], "there is no permission"),
        ("ci", "psi", ["\ud800"], "Invalid JSON"),
        ("ci", "psi", ["x" * 65], "body.permissions"),
    ):
        refusal = create(admin, name, tenant, permissions)
        assert (refusal.status, refusal.code) == (400, "invalid-request"), message
        assert message in refusal.json["detail"]
    for description in ("a\x00b", "\ud800", "x" * 501):
        assert create(admin, "ci", "psi", READS, description=description).code == "invalid-request"
    for body in ({"overlap": -1}, {"overlap": True}, {"ttl": 0}, {"permissions": READS}):
        assert admin.post(f"/v1/service-accounts/{ABSENT}/rotate", body).code == "invalid-request"


def test_no_tenant_can_be_called_as_the_provider(admin: Api) -> None:
    """Its account "ci" would be service:provider/ci, the principal of the provider's own."""
    assert admin.post("/v1/tenants", {"name": "provider"}).code == "invalid-request"
