"""The same administration requests to a real Keycloak and to the emulator; see ``test_like_keycloak``."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from csm_emulator.seed_data.secrets import keycloak_admin_password
from services.keycloak.administrator import ADMIN, FORM, TOKEN, Administrator, Answer, Ask
from services.keycloak.conftest import RealmClient
from services.keycloak.test_like_keycloak import (
    OIDC,
    REAL,
    SHOWN,
    _compared,
    _differences,
    _same,
    _tokens,
    both,
)

__all__ = ["both"]

pytestmark = pytest.mark.skipif(not REAL, reason="CANTON_TEST_KEYCLOAK names no Keycloak to compare with")

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Step = tuple[str, str, Any]


@pytest.fixture
def pair(both: tuple[Ask, Ask], visitor: RealmClient) -> tuple[Administrator, Administrator]:
    real, ours = both
    return Administrator(real, "admin"), Administrator(ours, keycloak_admin_password(visitor.site.context.random))


def _masked(answer: Answer, *, ordered: bool = True) -> Any:
    status, headers, body = answer
    chosen_headers = {name: headers[name] for name in SHOWN if name in headers}
    where = _ID.sub("an id", headers.get("location", ""))
    if not body:
        return status, chosen_headers, where, ""
    document = json.loads(_ID.sub("an id", re.sub(r'"createdTimestamp":\d{13}', '"createdTimestamp":0', body.decode())))
    return status, chosen_headers, where, document if ordered else sorted(document, key=lambda one: one["name"])


@pytest.mark.parametrize(
    "path",
    [
        "groups",
        "groups/",
        "groups?search=BL",
        "groups?search=blue&exact=true",
        "groups?search=BLUE&exact=true",
        "groups?search=blue&exact=1",
        "groups?search=zzz",
        "groups?search=",
        "groups?exact=true",
        "groups?first=1&max=1",
        "groups?first=9",
        "groups?first=-1&max=-1",
        "groups?first=x",
        "groups?max=0",
        "groups?max=2",
        "groups?briefRepresentation=false",
        "groups/<group blue>",
        "groups/nope",
        "groups/<group blue>/members",
        "groups/<group blue>/members?briefRepresentation=true",
        "groups/<group blue>/members?first=1&max=1",
        "groups/nope/members",
        "groups/<group blue>/role-mappings/realm",
        "groups/<group vcluster-blue-tenant-admin>/role-mappings/realm",
        "groups/nope/role-mappings/realm",
        "roles?first=1&max=2",
        "roles?first=x",
        "roles?search=BL",
        "roles?search=role",
        "roles?search=a&max=1",
        "roles?search=a&first=1",
        "roles/blue",
        "roles/offline_access",
        "roles/nope",
        "users",
        "users?username=dmi",
        "users?username=ADMIN&exact=true",
        "users?username=adm&exact=true",
        "users?username=bea&search=gus",
        "users?search=be",
        "users?search=ea",
        "users?search=*dm",
        "users?search=Bea+Blue",
        "users?search=Bea+Green",
        "users?search=%22admin%22",
        "users?search=a*n",
        "users?search=bea@example.org",
        "users?lastName=blue",
        "users?email=GUS@example.org&exact=true",
        "users?first=1&max=2",
        "users?first=x",
        "users?max=0",
        "users?briefRepresentation=true",
        "users/<user bea>",
        "users/nope",
        "users/<user bea>/groups",
        "users/<user bea>/groups?briefRepresentation=false",
        "users/<user bea>/groups?search=x",
        "users/<user user>/groups",
        "users/nope/groups",
    ],
)
def test_what_is_read(pair: tuple[Administrator, Administrator], path: str) -> None:
    real, ours = (_masked(one.ask("GET", path)) for one in pair)
    assert not _differences(ours, real)


@pytest.mark.parametrize("query", ["", "?max=2", "?first=2", "?name=blue", "?briefRepresentation=false"])
def test_all_roles_in_whatever_order(pair: tuple[Administrator, Administrator], query: str) -> None:
    real, ours = (_masked(one.ask("GET", f"roles{query}"), ordered=False) for one in pair)
    assert not _differences(ours, real)


ZED = {"name": "zed", "path": "/zed"}
BLUE = {"name": "blue", "id": "<role blue>"}
_MAPPINGS = "groups/<group zed>/role-mappings/realm"
_STORY: list[Step] = [
    ("POST", "groups", ZED),
    ("POST", "groups", ZED),
    ("GET", "groups/<group zed>", None),
    *(("POST", "groups", body) for body in ({}, {"name": ""}, {"name": " "}, {"name": None}, {"name": [1]})),
    ("POST", "groups", {"name": "n" * 256}),
    ("POST", "groups", {"name": 7}),
    ("DELETE", "groups/<group 7>", None),
    ("POST", "groups", {"name": True}),
    ("DELETE", "groups/<group true>", None),
    *(("POST", "groups", text) for text in ("nonsense", "[]", "null", "")),
    ("PUT", "groups", ZED),
    ("POST", _MAPPINGS, [BLUE]),
    ("POST", _MAPPINGS, [BLUE]),
    ("POST", _MAPPINGS, []),
    ("POST", _MAPPINGS, BLUE),
    ("POST", _MAPPINGS, [1]),
    ("POST", _MAPPINGS, [{}]),
    ("POST", _MAPPINGS, [{"name": "blue"}]),
    ("POST", _MAPPINGS, [{"name": "blue", "id": "<role green>"}]),
    ("POST", _MAPPINGS, [{"name": "green", "id": "<role green>"}, {"name": "nope", "id": "x"}]),
    ("POST", "groups/nope/role-mappings/realm", [BLUE]),
    ("GET", _MAPPINGS, None),
    ("PUT", "users/<user gus>/groups/<group zed>", None),
    ("PUT", "users/<user gus>/groups/<group zed>", {}),
    ("PUT", "users/<user gus>/groups/nope", None),
    ("PUT", "users/nope/groups/<group zed>", None),
    ("GET", "users/<user gus>/groups", None),
    ("GET", "users/<user gus>/groups?first=1&max=1&briefRepresentation=false", None),
    ("GET", "groups/<group zed>/members", None),
    ("token", "gus", None),
    ("DELETE", _MAPPINGS, [{"name": "nope"}]),
    ("DELETE", _MAPPINGS, [BLUE]),
    ("DELETE", _MAPPINGS, [BLUE]),
    ("GET", _MAPPINGS, None),
    ("POST", _MAPPINGS, [BLUE]),
    ("DELETE", _MAPPINGS, None),
    ("GET", _MAPPINGS, None),
    ("token", "gus", None),
    ("DELETE", "users/<user gus>/groups/<group zed>", None),
    ("DELETE", "users/<user gus>/groups/<group zed>", None),
    ("DELETE", "users/<user gus>/groups/nope", None),
    ("DELETE", "users/nope/groups/<group zed>", None),
    ("PUT", "users/<user gus>/groups/<group zed>", None),
    ("DELETE", "groups/<group zed>", None),
    ("DELETE", "groups/<group zed>", None),
    ("GET", "users/<user gus>/groups", None),
    ("token", "gus", None),
]


def test_a_group_from_the_beginning_to_the_end(
    both: tuple[Ask, Ask],
    pair: tuple[Administrator, Administrator],
    visitor: RealmClient,
) -> None:
    def token(ask: Ask, username: str) -> Any:
        form = {"grant_type": "password", "username": username, "password": visitor.passwords[username]}
        status, headers, status_body = _compared(
            ask("POST", f"{OIDC}/token", urlencode({**form, "client_id": "shasta"}).encode(), FORM)
        )
        access = status_body["access_token"]
        return status, headers, {**status_body, "access_token": {**access, "groups": sorted(access["groups"])}}

    for method, path, body in _STORY:
        if method == "token":
            real, ours = (token(ask, path) for ask in both)
        else:
            real, ours = (_masked(one.ask(method, path, body)) for one in pair)
        assert (method, path, body, _differences(ours, real)) == (method, path, body, {})


def test_a_body_that_is_not_called_json(pair: tuple[Administrator, Administrator]) -> None:
    media = {"Content-Type": "text/plain"}
    real, ours = (_masked(one.ask("POST", "groups", ZED, **media)) for one in pair)
    assert not _differences(ours, real)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": "Bearer a.b.c"},
        {"Authorization": "Basic YWRtaW46YWRtaW4="},
    ],
)
@pytest.mark.parametrize("path", ["groups", "groups/nope", "users", "roles/blue"])
def test_without_a_token(both: tuple[Ask, Ask], path: str, headers: dict[str, str]) -> None:
    real, ours = (_masked(ask("GET", f"{ADMIN}/{path}", b"", headers)) for ask in both)
    assert not _differences(ours, real)


@pytest.mark.parametrize("path", ["groups", "users", "roles"])
def test_with_a_token_of_the_realm_itself(both: tuple[Ask, Ask], visitor: RealmClient, path: str) -> None:
    def answer(ask: Ask) -> Any:
        bearer = {"Authorization": f"Bearer {_tokens(ask, visitor)['access_token']}"}
        return _masked(ask("GET", f"{ADMIN}/{path}", b"", bearer))

    real, ours = (answer(ask) for ask in both)
    assert not _differences(ours, real)


def test_the_tokens_of_an_administrator(
    both: tuple[Ask, Ask],
    pair: tuple[Administrator, Administrator],
) -> None:
    def refreshed(ask: Ask, one: Administrator) -> Any:
        token = json.loads(one.logged_in[2])["refresh_token"]
        form = {"grant_type": "refresh_token", "client_id": "admin-cli", "refresh_token": token}
        return _compared(ask("POST", TOKEN, urlencode(form).encode(), FORM))

    real, ours = (_compared(one.logged_in) for one in pair)
    assert not _differences(ours, real)
    real, ours = (refreshed(ask, one) for ask, one in zip(both, pair, strict=True))
    assert not _differences(ours, real)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "x"},
        {"grant_type": "password", "client_id": "admin-cli", "username": "bea", "password": "x"},
        {"grant_type": "password", "client_id": "admin-cli"},
        {"grant_type": "password", "client_id": "shasta", "username": "admin", "password": "x"},
        {"grant_type": "client_credentials", "client_id": "admin-cli"},
    ],
)
def test_who_is_not_let_in_to_master(both: tuple[Ask, Ask], form: dict[str, str]) -> None:
    _same(both, "POST", TOKEN, form)
