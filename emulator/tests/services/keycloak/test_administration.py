"""The groups that an administrator of ``master`` changes, and the tokens after the changes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from service_client import GARBAGE, reopen
from services.keycloak.administrator import ADMIN, TOKEN, Administrator, administrator, ask_of
from services.keycloak.conftest import RealmClient, claims

ROLE = {"name": "tenant-admin", "id": "<role tenant-admin>"}
RED = "vcluster-red-tenant-admin"


@pytest.fixture
def admin(alone: RealmClient) -> Administrator:
    return administrator(alone.site)


def make_red(admin: Administrator) -> None:
    assert admin.ask("POST", "groups", {"name": RED})[0] == 201
    assert admin.ask("POST", f"groups/<group {RED}>/role-mappings/realm", [ROLE])[0] == 204
    assert admin.ask("PUT", f"users/<user user>/groups/<group {RED}>")[0] == 204


def said_of(visitor: RealmClient, username: str) -> tuple[list[str], bool]:
    """The groups of a new token, and whether it is that of a tenant's administrator."""
    token_claims = claims(visitor.log_in(username)["access_token"])
    return token_claims.get("groups", []), "tenant-admin" in token_claims["realm_access"]["roles"]


def test_what_comes_with_the_machine(alone: RealmClient, admin: Administrator) -> None:
    labels = ["blue", "green"]
    tenants = [f"vcluster-{label}-tenant-admin" for label in labels]
    assert admin.names("groups") == [*labels, *tenants]
    assert admin.names("groups/<group vcluster-blue-tenant-admin>/members") == ["blue-admin"]
    assert admin.names("groups/<group vcluster-blue-tenant-admin>/role-mappings/realm") == ["tenant-admin"]
    assert admin.names("users/<user bea>/groups") == ["blue"]
    assert said_of(alone, "blue-admin") == ([tenants[0]], True)


def test_a_user_becomes_a_tenant_s_administrator(alone: RealmClient, admin: Administrator) -> None:
    assert said_of(alone, "user") == ([], False)
    make_red(admin)
    assert said_of(alone, "user") == ([RED], True)
    assert admin.names(f"groups/<group {RED}>/members") == ["user"]
    assert admin.ask("DELETE", f"groups/<group {RED}>/role-mappings/realm")[0] == 204
    assert said_of(alone, "user") == ([RED], False)


def test_tokens_that_are_refreshed_and_userinfo_say_it_too(alone: RealmClient, admin: Administrator) -> None:
    tokens = alone.log_in("user", scope="openid")
    make_red(admin)
    refreshed = alone.token(grant_type="refresh_token", client_id="shasta", refresh_token=tokens["refresh_token"])
    assert claims(refreshed.json()["access_token"])["groups"] == [RED]
    where = "/keycloak/realms/shasta/protocol/openid-connect/userinfo"
    userinfo = alone.get(where, {"authorization": f"Bearer {tokens['access_token']}"}).json()
    assert userinfo["groups"] == [RED]


def test_who_leaves_loses_the_role_of_the_group(alone: RealmClient, admin: Administrator) -> None:
    tenant = "vcluster-blue-tenant-admin"
    assert admin.ask("DELETE", f"users/<user blue-admin>/groups/<group {tenant}>")[0] == 204
    assert said_of(alone, "blue-admin") == ([], False)


def test_a_group_that_goes_takes_its_members_along(alone: RealmClient, admin: Administrator) -> None:
    make_red(admin)
    first = admin.get(f"groups?search={RED}")[0]["id"]
    assert admin.ask("DELETE", f"groups/<group {RED}>")[0] == 204
    assert said_of(alone, "user") == ([], False)
    assert admin.ask("POST", "groups", {"name": RED})[0] == 201
    group = admin.get(f"groups?search={RED}")[0]
    assert group["id"] != first
    assert admin.names(f"groups/{group['id']}/members") == []


def test_it_is_there_after_a_restart(alone: RealmClient, admin: Administrator) -> None:
    make_red(admin)
    assert admin.ask("DELETE", "groups/<group green>")[0] == 204
    groups = admin.get("groups?briefRepresentation=false")
    reopened_site = reopen(alone.site)
    assert administrator(reopened_site).get("groups?briefRepresentation=false") == groups
    assert said_of(RealmClient(reopened_site), "user") == ([RED], True)
    assert said_of(RealmClient(reopened_site), "gus") == ([], False)
    reopened_site.state_file.close()


def test_the_second_group_of_a_name_is_refused(admin: Administrator) -> None:
    status, _, body = admin.ask("POST", "groups", {"name": "blue"})
    assert (status, json.loads(body)) == (409, {"errorMessage": "Top level group named 'blue' already exists."})


def test_a_new_group_is_at_the_location_of_the_answer(admin: Administrator) -> None:
    status, headers, _ = admin.ask("POST", "groups", {"name": RED})
    assert (status, headers["location"].rpartition("/")[0]) == (201, f"https://localhost:8443/keycloak{ADMIN}/groups")
    assert admin.get(f"groups/{headers['location'].rpartition('/')[2]}")["name"] == RED


@pytest.mark.parametrize(
    "garbage", [*(odd for odd in GARBAGE if b"ud800" not in odd), b'[{"name":{}}]', b'{"name":{}}', b"[null]"]
)
def test_garbage_changes_nothing(visitor: RealmClient, garbage: bytes) -> None:
    admin = administrator(visitor.site)
    groups_before = admin.get("groups?briefRepresentation=false")
    media = {**admin.headers, "content-type": "application/json"}
    blue = admin.get("groups?search=blue&exact=true")[0]["id"]
    for path in ("groups", f"groups/{blue}/role-mappings/realm"):
        status, _, _ = ask_of(visitor.site)("POST", f"{ADMIN}/{path}", garbage, media)
        assert status >= 400 or garbage == b"[]"
    assert admin.get("groups?briefRepresentation=false") == groups_before


def test_a_name_that_utf_8_does_not_have(alone: RealmClient, admin: Administrator) -> None:
    assert admin.ask("POST", "groups", {"name": "\ud800"})[0] == 201
    identity = next(group["id"] for group in admin.get("groups") if group["name"] == "\ufffd")
    assert admin.ask("PUT", f"users/<user user>/groups/{identity}")[0] == 204
    assert said_of(alone, "user") == (["\ufffd"], False)


def _refused(visitor: RealmClient, token: str) -> tuple[int, Any]:
    status, _, body = ask_of(visitor.site)("GET", f"{ADMIN}/groups", b"", {"authorization": f"Bearer {token}"})
    return status, json.loads(body)


def test_only_tokens_of_master_are_taken(visitor: RealmClient) -> None:
    unknown = (401, {"error": "HTTP 401 Unauthorized"})
    assert _refused(visitor, "") == unknown
    assert _refused(visitor, visitor.log_in()["refresh_token"]) == unknown
    tokens = json.loads(administrator(visitor.site).logged_in[2])
    assert _refused(visitor, tokens["refresh_token"]) == unknown
    assert _refused(visitor, visitor.log_in("admin")["access_token"]) == (403, {"error": "HTTP 403 Forbidden"})
    forged = visitor.side("mint", {**claims(tokens["access_token"]), "exp": time.time() + 60}).json()["token"]
    assert _refused(visitor, forged) == unknown


def test_a_token_of_master_counts_for_a_minute(visitor: RealmClient, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = administrator(visitor.site)
    assert admin.names("groups?max=1") == ["blue"]
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert admin.ask("GET", "groups")[0] == 401


def test_people_of_the_site_are_none_of_master(visitor: RealmClient) -> None:
    form = f"grant_type=password&client_id=admin-cli&username=admin&password={visitor.passwords['admin']}"
    media = {"content-type": "application/x-www-form-urlencoded"}
    assert ask_of(visitor.site)("POST", TOKEN, form.encode(), media)[0] == 400


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("groups?search=GREEN&first=1&max=1", ["vcluster-green-tenant-admin"]),
        ("groups?search=blue&exact=true", ["blue"]),
        ("groups?first=3", ["vcluster-green-tenant-admin"]),
        ("roles?search=ten", ["tenant-admin"]),
        ("roles?first=0&max=2", ["blue", "default-roles-shasta"]),
        ("users?search=be", ["bea"]),
        ("users?search=*us*", ["gus", "user"]),
        ("users?username=admin&exact=true", ["admin"]),
        ("users?username=admin&first=1&max=2", ["blue-admin", "green-admin"]),
    ],
)
def test_searching(visitor: RealmClient, path: str, names: list[str]) -> None:
    assert administrator(visitor.site).names(path) == names
