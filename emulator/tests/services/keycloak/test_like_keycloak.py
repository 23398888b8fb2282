"""The same requests to a real Keycloak and to the emulator; a visible difference is a failure.

``CANTON_TEST_KEYCLOAK`` names the real one: ``.ci/keycloak start DIR``.
"""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

import keycloak_realm
from csm_emulator.services.keycloak.realm.users import Account, accounts, group_roles
from services.keycloak.administrator import FORM, Answer, Ask, ask_of
from services.keycloak.conftest import DEVICE_CODE, RealmClient, claims

REAL = os.environ.get("CANTON_TEST_KEYCLOAK", "")
pytestmark = pytest.mark.skipif(not REAL, reason="CANTON_TEST_KEYCLOAK names no Keycloak to compare with")

# The realm has another name in the real Keycloak, since tests share it.
NAME = f"shasta-{os.getpid()}"
CLIENT = "system-slingshot-client"
SHOWN = ("content-type", "cache-control", "pragma", "www-authenticate", "referrer-policy")


def _realm(visitor: RealmClient) -> dict[str, Any]:
    """The emulator's users and clients with the same passwords and secrets."""
    audience = {"included.custom.audience": "shasta", "access.token.claim": "true"}
    groups = {
        "full.path": "false",
        "claim.name": "groups",
        "access.token.claim": "true",
        "userinfo.token.claim": "true",
    }
    mappers = [
        {"name": "shasta", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper", "config": audience},
        {
            "name": "groups",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-group-membership-mapper",
            "config": {**groups, "id.token.claim": "true"},
        },
    ]
    public = {"publicClient": True, "directAccessGrantsEnabled": True, "standardFlowEnabled": False}
    device = {"oauth2.device.authorization.grant.enabled": "true"}
    secret = {"publicClient": False, "secret": visitor.secrets[CLIENT], "serviceAccountsEnabled": True}
    year = 31_536_000
    context = visitor.site.context
    people, groups_given = accounts(context).values(), group_roles(context)
    own = {role for account in people for role in account.realm_roles}
    roles = sorted(own.union(*groups_given.values()))
    return {
        "realm": NAME,
        "enabled": True,
        "sslRequired": "none",
        "accessTokenLifespan": year,
        "ssoSessionIdleTimeout": year,
        "ssoSessionMaxLifespan": year,
        "roles": {
            "realm": [{"name": role} for role in roles],
            "client": {"shasta": [{"name": "admin"}, {"name": "user"}], CLIENT: [{"name": "slingshot-admin"}]},
        },
        "groups": [{"name": name, "realmRoles": list(realm_roles)} for name, realm_roles in groups_given.items()],
        "clients": [
            {"clientId": "shasta", **public, "attributes": device, "protocolMappers": mappers},
            {"clientId": CLIENT, **secret, "standardFlowEnabled": False, "protocolMappers": mappers},
        ],
        "users": [_person(account) for account in people],
    }


def _person(account: Account) -> dict[str, Any]:
    first, last = account.name.split()
    return {
        "username": account.username,
        "enabled": True,
        "firstName": first,
        "lastName": last,
        "email": f"{account.username}@example.org",
        "emailVerified": True,
        "credentials": [{"type": "password", "value": account.password, "temporary": False}],
        "realmRoles": [f"default-roles-{NAME}", *account.realm_roles],
        "clientRoles": {client: list(roles) for client, roles in account.client_roles.items()},
        "groups": [f"/{group}" for group in account.groups],
    }


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """The real answer, which is compared as it is."""


def _ask_real(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    url = REAL + path.replace("/realms/shasta", f"/realms/{NAME}")
    request = urllib.request.Request(url, body if body or method == "POST" else None, dict(headers), method=method)  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    try:
        reply = opener.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        reply_headers = {name.lower(): value.replace(NAME, "shasta") for name, value in reply.headers.items()}
        return reply.status, reply_headers, reply.read().replace(NAME.encode(), b"shasta")


@pytest.fixture(scope="module")
def both(visitor: RealmClient) -> Iterator[tuple[Ask, Ask]]:
    keycloak_realm.call(REAL, "POST", "/admin/realms", _realm(visitor))
    yield _ask_real, ask_of(visitor.site, REAL)
    keycloak_realm.call(REAL, "DELETE", f"/admin/realms/{NAME}")


OIDC = "/realms/shasta/protocol/openid-connect"
Form = list[tuple[str, str]] | dict[str, str]


def _compared(answer: Answer) -> tuple[int, dict[str, str], Any]:
    """Status, the compared headers, and the body; a token is replaced by its claims."""
    status, headers, body = answer
    chosen_headers = {name: headers[name] for name in SHOWN if name in headers}
    try:
        document = json.loads(body)
    except ValueError:
        return status, chosen_headers, body if len(body) < 200 else "a page"
    return status, chosen_headers, {name: _kind(name, value) for name, value in document.items()}


def _kind(name: str, value: Any) -> Any:
    if name in ("access_token", "id_token", "refresh_token"):
        token_claims = json.loads(json.dumps(claims(value)).replace(NAME, "shasta"))
        compared_names = ("typ", "azp", "acr", "name", "groups", "preferred_username", "email", "resource_access")
        return {
            "claims": sorted(token_claims),
            "alg": claims(value, 0)["alg"],
            "for": sorted(token_claims["aud"])
            if isinstance(token_claims.get("aud"), list)
            else token_claims.get("aud"),
            "lives": _about(token_claims["exp"] - token_claims["iat"]),
            "scope": sorted(token_claims.get("scope", "").split()),
            "realm": sorted(token_claims.get("realm_access", {}).get("roles", [])),
            **{claim: token_claims[claim] for claim in compared_names if claim in token_claims},
        }
    if name in ("session_state", "device_code", "user_code", "public_key", "sub", "jti", "sid"):
        return len(value)
    if name == "verification_uri_complete":
        return len(value)
    if name == "scope":
        return sorted(value.split())
    return _about(value) if name.endswith("expires_in") else value


def _about(seconds: int) -> int:
    """A session may have begun a second before its tokens."""
    return round(seconds, -1)


def _flat(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    if not items:
        yield where, value
    for key, inner in items:
        yield from _flat(inner, f"{where}/{key}")


def _differences(ours: Any, real: Any) -> dict[str, Any]:
    """The places that differ, with both values."""
    our_fields, real_fields = dict(_flat(ours)), dict(_flat(real))
    places = sorted({*our_fields, *real_fields})
    return {
        place: (our_fields.get(place), real_fields.get(place))
        for place in places
        if our_fields.get(place) != real_fields.get(place)
    }


def _same(both: tuple[Ask, Ask], method: str, path: str, form: Form = (), headers: Any = ()) -> None:  # type: ignore[assignment]
    body = urlencode(form).encode()
    request_headers = {**(FORM if method == "POST" else {}), **dict(headers)}
    real, ours = (_compared(ask(method, path, body, request_headers)) for ask in both)
    assert not _differences(ours, real)


def _basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ({}, {}),
        ({"client_id": "shasta"}, {}),
        ({"grant_type": "foo"}, {}),
        ({"grant_type": "foo", "client_id": "shasta"}, {}),
        ({"grant_type": "foo", "client_id": "zzz"}, {}),
        ({"grant_type": "password"}, {}),
        ({"grant_type": "password", "client_id": "zzz"}, {}),
        ({"grant_type": "password", "client_id": ""}, {}),
        ({"grant_type": "password", "client_id": "shasta"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": ""}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "bea"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "bea", "password": "x"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "missing", "password": "x"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "b\0a", "password": "\0"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "bea", "scope": "nope"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "username": "bea", "scope": "openid nope"}, {}),
        ({"grant_type": "password", "client_id": "shasta", "scope": "nope"}, {}),
        ({"grant_type": "password", "client_id": CLIENT}, {}),
        ({"grant_type": "password", "username": "bea", "password": "x"}, _basic("shasta:")),
        ({"grant_type": "password", "username": "bea", "password": "x"}, _basic("shasta")),
        ({"grant_type": "password", "username": "bea", "password": "x"}, _basic("zzz:")),
        ({"grant_type": "password", "username": "bea", "password": "x"}, {"Authorization": "Basic %%%"}),
        ({"grant_type": "password", "username": "bea", "password": "x"}, {"Authorization": "basic c2hhc3RhOg=="}),
        ({"grant_type": "password", "username": "bea", "password": "x"}, {"Authorization": "Bearer x"}),
        ([("grant_type", "password"), ("grant_type", "password"), ("client_id", "shasta")], {}),
        ([("grant_type", "password"), ("client_id", "zzz"), ("x", "1"), ("x", "2")], {}),
        ([("grant_type", "password"), ("client_id", "shasta"), ("x", "1"), ("x", "2")], {}),
        ({"grant_type": "client_credentials", "client_id": "shasta"}, {}),
        ({"grant_type": "client_credentials", "client_id": CLIENT}, {}),
        ({"grant_type": "client_credentials", "client_id": CLIENT, "client_secret": "no"}, {}),
        ({"grant_type": "client_credentials"}, _basic(f"{CLIENT}:no")),
        ({"grant_type": "refresh_token", "client_id": "shasta"}, {}),
        ({"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": ""}, {}),
        ({"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": "abc"}, {}),
        ({"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": "a.b.c"}, {}),
        ({"grant_type": DEVICE_CODE, "client_id": "shasta"}, {}),
        ({"grant_type": DEVICE_CODE, "client_id": "shasta", "device_code": "zz"}, {}),
        ({"grant_type": "password", "client_id": "shasta"}, {"Content-Type": "application/json"}),
        ({"grant_type": "password", "client_id": "shasta"}, {"Content-Type": "text/plain"}),
    ],
)
def test_what_the_token_endpoint_refuses(both: tuple[Ask, Ask], form: Form, headers: dict[str, str]) -> None:
    _same(both, "POST", f"{OIDC}/token", form, headers)


@pytest.mark.parametrize("scope", ["", "openid", "openid profile", "email", "openid roles"])
@pytest.mark.parametrize("username", ["bea", "slingshot-admin"])
def test_what_a_password_gives(both: tuple[Ask, Ask], visitor: RealmClient, username: str, scope: str) -> None:
    form = {"grant_type": "password", "username": username, "password": visitor.passwords[username], "x": "stray"}
    parameters = {"scope": scope} if scope else {}
    _same(both, "POST", f"{OIDC}/token", {**form, **parameters, "client_id": "shasta"})
    _same(both, "POST", f"{OIDC}/token", {**form, **parameters}, _basic("shasta:"))


@pytest.mark.parametrize("scope", ["profile", "openid"])
def test_what_a_secret_gives(both: tuple[Ask, Ask], visitor: RealmClient, scope: str) -> None:
    form = {"grant_type": "client_credentials", "scope": scope}
    real, ours = (
        _compared(
            ask(
                "POST",
                f"{OIDC}/token",
                urlencode(form).encode(),
                {**FORM, **_basic(f"{CLIENT}:{visitor.secrets[CLIENT]}")},
            )
        )
        for ask in both
    )
    # The service account's roles are those of CSM, not of this realm; its tokens are otherwise the same.
    for answer in (real, ours):
        del answer[2]["access_token"]["resource_access"], answer[2]["access_token"]["for"]
    assert not _differences(ours, real)


def _tokens(ask: Ask, visitor: RealmClient, **more: str) -> dict[str, Any]:
    form = {"grant_type": "password", "client_id": "shasta", "username": "bea", "password": visitor.passwords["bea"]}
    tokens: dict[str, Any] = json.loads(ask("POST", f"{OIDC}/token", urlencode({**form, **more}).encode(), FORM)[2])
    return tokens


@pytest.mark.parametrize("scope", ["profile", "openid"])
def test_the_life_of_a_session(both: tuple[Ask, Ask], visitor: RealmClient, scope: str) -> None:
    """Refreshes twice with one token, uses it for the wrong client, introspects it, logs out, and tries again."""

    def story(ask: Ask) -> list[Any]:
        answer = _tokens(ask, visitor, scope=scope)
        bearer = {"Authorization": f"Bearer {answer['access_token']}"}
        refresh = {"grant_type": "refresh_token", "refresh_token": answer["refresh_token"]}
        mine, other_client = {"client_id": "shasta"}, {"client_id": CLIENT, "client_secret": visitor.secrets[CLIENT]}
        forms: list[tuple[str, str, dict[str, str], dict[str, str]]] = [
            ("POST", "token", {**refresh, **mine}, {}),
            ("POST", "token", {**refresh, **mine}, {}),
            ("POST", "token", {**refresh, **mine, "scope": "nope"}, {}),
            ("POST", "token", {**refresh, **other_client}, {}),
            ("POST", "token", {**refresh, **mine, "refresh_token": answer["access_token"]}, {}),
            ("GET", "userinfo", {}, bearer),
            ("POST", "userinfo", {"access_token": answer["access_token"]}, {}),
            ("POST", "userinfo", {"access_token": "x"}, bearer),
            ("POST", "token/introspect", {**mine, "token": answer["access_token"]}, {}),
            ("POST", "token/introspect", {**other_client, "token": answer["access_token"]}, {}),
            ("POST", "token/introspect", {**other_client, "token": "x"}, {}),
            ("POST", "token/introspect", other_client, {}),
            ("POST", "revoke", {**mine, "token": "x"}, {}),
            ("POST", "revoke", mine, {}),
            ("POST", "revoke", {"token": "x"}, {}),
            ("POST", "revoke", {**other_client, "token": answer["refresh_token"]}, {}),
            ("POST", "revoke", {**mine, "token": answer["access_token"]}, {}),
            ("GET", "userinfo", {}, bearer),
            ("POST", "token", {**refresh, **mine}, {}),
            ("POST", "logout", {**mine, "refresh_token": "x"}, {}),
            ("POST", "logout", {"refresh_token": answer["refresh_token"]}, {}),
            ("POST", "logout", {**mine, "refresh_token": answer["refresh_token"]}, {}),
            ("POST", "logout", {**mine, "refresh_token": answer["refresh_token"]}, {}),
            ("POST", "token", {**refresh, **mine}, {}),
        ]
        return [
            (path, _compared(ask(method, f"{OIDC}/{path}", urlencode(form).encode(), {**FORM, **headers})))
            for method, path, form, headers in forms
        ]

    for real, ours in zip(*(story(ask) for ask in both), strict=True):
        assert not _differences(ours, real)


def test_introspection_of_a_token_that_is_meant_for_the_caller(both: tuple[Ask, Ask], visitor: RealmClient) -> None:
    def told(ask: Ask) -> Any:
        who = {"username": "slingshot-admin", "password": visitor.passwords["slingshot-admin"]}
        token = _tokens(ask, visitor, **who)["access_token"]
        form = {"client_id": CLIENT, "client_secret": visitor.secrets[CLIENT], "token": token}
        answer = json.loads(ask("POST", f"{OIDC}/token/introspect", urlencode(form).encode(), FORM)[2])
        return sorted(answer), [answer[name] for name in ("active", "client_id", "username", "token_type")]

    real, ours = (told(ask) for ask in both)
    assert not _differences(ours, real)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/realms/shasta"),
        ("GET", "/realms/shasta/"),
        ("GET", "/realms/shasta/zzz"),
        ("GET", f"{OIDC}/zzz"),
        ("GET", "/realms/nope"),
        ("POST", "/realms/nope/protocol/openid-connect/token"),
        ("GET", f"{OIDC}/token"),
        ("PUT", f"{OIDC}/token"),
        ("DELETE", f"{OIDC}/token"),
        ("POST", f"{OIDC}/certs"),
        ("GET", f"{OIDC}/userinfo"),
        ("GET", f"{OIDC}/token/introspect"),
        ("GET", f"{OIDC}/revoke"),
        ("GET", f"{OIDC}/auth/device"),
        ("GET", "/realms/shasta/device"),
        ("GET", "/realms/shasta/device?user_code=ZZZZ-ZZZZ"),
    ],
)
def test_paths_and_methods(both: tuple[Ask, Ask], method: str, path: str) -> None:
    _same(both, method, path)


@pytest.mark.parametrize(
    "form", [{}, {"client_id": "zzz"}, {"client_id": "shasta"}, {"client_id": "shasta", "scope": "x"}]
)
def test_a_device_begins(both: tuple[Ask, Ask], form: dict[str, str]) -> None:
    _same(both, "POST", f"{OIDC}/auth/device", form)


def test_a_device_waits(both: tuple[Ask, Ask]) -> None:
    def story(ask: Ask) -> list[Any]:
        device = json.loads(ask("POST", f"{OIDC}/auth/device", b"client_id=shasta", FORM)[2])
        form = {"grant_type": DEVICE_CODE, "client_id": "shasta", "device_code": device["device_code"]}
        return [_compared(ask("POST", f"{OIDC}/token", urlencode(form).encode(), FORM)) for _ in range(2)]

    real, ours = (story(ask) for ask in both)
    assert not _differences(ours, real)


def test_the_published_keys_have_the_same_shape(both: tuple[Ask, Ask]) -> None:
    def shapes(ask: Ask) -> list[Any]:
        keys = json.loads(ask("GET", f"{OIDC}/certs", b"", {})[2])["keys"]
        return sorted((key["use"], key["alg"], list(key), len(key["n"]), len(key["kid"])) for key in keys)

    real, ours = (shapes(ask) for ask in both)
    assert not _differences(ours, real)


def test_the_discovery_document_has_no_fields_of_its_own(both: tuple[Ask, Ask]) -> None:
    where = "/realms/shasta/.well-known/openid-configuration"
    real, ours = (json.loads(ask("GET", where, b"", {})[2]) for ask in both)
    for name, value in ours.items():
        if isinstance(value, list):
            assert set(value) <= set(real[name]), name
        else:
            assert value == real[name], name
