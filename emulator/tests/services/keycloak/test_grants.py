"""The token endpoint; the answers to valid and invalid requests are those of Keycloak 26.7.3."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.keycloak.realm import realm as realm_module
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call
from services.keycloak.administrator import FORM
from services.keycloak.conftest import BASE, OIDC, RealmClient, claims, error

YEAR = 31_536_000
WRONG = (401, "invalid_client", "Invalid client or Invalid client credentials")


def _basic(name: str, secret: str = "") -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


def test_a_password_gives_tokens(visitor: RealmClient) -> None:
    answer = visitor.log_in()
    assert list(answer) == [
        "access_token",
        "expires_in",
        "refresh_expires_in",
        "refresh_token",
        "token_type",
        "not-before-policy",
        "session_state",
        "scope",
    ]
    assert (answer["expires_in"], answer["refresh_expires_in"]) == (YEAR, YEAR)
    assert (answer["token_type"], answer["scope"], answer["not-before-policy"]) == ("Bearer", "profile email", 0)


def test_the_claims_of_an_access_token(visitor: RealmClient) -> None:
    token = visitor.log_in("bea")["access_token"]
    token_claims = claims(token)
    assert abs(token_claims["iat"] - time.time()) < 5
    assert token_claims["exp"] - token_claims["iat"] == YEAR
    assert token_claims["iss"] == f"{BASE}/realms/shasta"
    assert token_claims["aud"] == ["shasta", "account"]
    assert (token_claims["typ"], token_claims["azp"], token_claims["scope"], token_claims["acr"]) == (
        "Bearer",
        "shasta",
        "profile email",
        "1",
    )
    assert (token_claims["preferred_username"], token_claims["name"], token_claims["groups"]) == (
        "bea",
        "Bea Blue",
        ["blue"],
    )
    assert token_claims["realm_access"]["roles"] == [
        "default-roles-shasta",
        "blue",
        "offline_access",
        "uma_authorization",
    ]
    assert token_claims["resource_access"]["shasta"]["roles"] == ["admin"]
    assert token_claims["jti"].startswith("onrtro:")
    header = claims(token, 0)
    assert (header["alg"], header["typ"]) == ("RS256", "JWT")


def test_tokens_verify_with_the_published_keys(visitor: RealmClient) -> None:
    published = visitor.get(f"{OIDC}/certs").json()["keys"]
    assert [(key["alg"], key["use"]) for key in published] == [("RSA-OAEP", "enc"), ("RS256", "sig")]
    keys = KeySet([RSAKey.import_key(key) for key in published])
    answer = visitor.log_in(scope="openid")
    for token in (answer["access_token"], answer["id_token"]):
        assert jwt.decode(token, keys, algorithms=["RS256"]).claims["preferred_username"] == "admin"


def test_openid_adds_an_identity(visitor: RealmClient) -> None:
    answer = visitor.log_in(scope="openid")
    assert answer["scope"] == "openid profile email"
    identity = claims(answer["id_token"])
    assert (identity["typ"], identity["aud"], identity["sid"]) == ("ID", "shasta", answer["session_state"])


def test_roles_of_the_slingshot_client_and_of_tenants(visitor: RealmClient) -> None:
    token_claims = claims(visitor.log_in("slingshot-admin")["access_token"])
    assert token_claims["resource_access"]["system-slingshot-client"]["roles"] == ["slingshot-admin"]
    assert "shasta" in token_claims["aud"]
    token_claims = claims(visitor.log_in("blue-admin")["access_token"])
    assert "tenant-admin" in token_claims["realm_access"]["roles"]
    assert token_claims["groups"] == ["vcluster-blue-tenant-admin"]
    assert "shasta" not in token_claims["resource_access"]


def test_the_client_may_be_named_by_http_basic(visitor: RealmClient) -> None:
    form = {"grant_type": "password", "username": "admin", "password": visitor.passwords["admin"]}
    assert visitor.token(_basic("shasta"), **form).status == 200
    assert visitor.token(_basic("missing"), **form, client_id="shasta").status == 200
    assert error(visitor.token(_basic("missing"), **form)) == WRONG
    for odd in ("Basic %%%", "Basic", "Basic c2hhc3Rh", "Bearer x", "Basic /w==", "\0"):
        assert error(visitor.token({"authorization": odd}, **form)) == WRONG


def test_stray_fields_are_ignored(visitor: RealmClient) -> None:
    assert visitor.log_in(client_secret="", foo="bar", x="")
    credentials = {"client_secret": visitor.secrets["wlm-client"]}
    assert visitor.log_in(**credentials)


def test_usernames_are_taken_in_any_case_and_passwords_are_not(visitor: RealmClient) -> None:
    form = {"grant_type": "password", "client_id": "shasta", "username": "ADMIN"}
    assert visitor.token(**form, password=visitor.passwords["admin"]).status == 200
    assert visitor.token(**form, password=visitor.passwords["admin"].upper()).status == 400


@pytest.mark.parametrize(
    ("form", "refusal"),
    [
        ({}, (400, "invalid_request", "Missing form parameter: grant_type")),
        ({"client_id": "shasta"}, (400, "invalid_request", "Missing form parameter: grant_type")),
        ({"grant_type": "foo", "client_id": "shasta"}, (400, "unsupported_grant_type", "Unsupported grant_type")),
        ({"grant_type": "password", "username": "a"}, WRONG),
        ({"grant_type": "password", "client_id": ""}, WRONG),
        ({"grant_type": "password", "client_id": "zzz"}, WRONG),
        (
            {"grant_type": "password", "client_id": "shasta", "password": "x"},
            (401, "invalid_request", "Missing parameter: username"),
        ),
        (
            {"grant_type": "password", "client_id": "shasta", "username": "admin", "password": "x", "scope": "nope"},
            (400, "invalid_scope", "Invalid scopes: nope"),
        ),
        (
            {"grant_type": "client_credentials", "client_id": "shasta"},
            (401, "unauthorized_client", "Public client not allowed to retrieve service account"),
        ),
        (
            {"grant_type": "client_credentials", "client_id": "admin-client"},
            (401, "unauthorized_client", "Invalid client or Invalid client credentials"),
        ),
        (
            {"grant_type": "client_credentials", "client_id": "admin-client", "client_secret": "no"},
            (401, "unauthorized_client", "Invalid client or Invalid client credentials"),
        ),
        (
            {"grant_type": "refresh_token", "client_id": "shasta"},
            (400, "invalid_request", "No refresh token"),
        ),
        (
            {"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": "abc"},
            (400, "invalid_grant", "Invalid refresh token"),
        ),
    ],
)
def test_what_is_refused(visitor: RealmClient, form: dict[str, str], refusal: tuple[int, str, str]) -> None:
    assert error(visitor.token(**form)) == refusal


@pytest.mark.parametrize("username", ["admin", "missing", "", "ad\0min", "\u2603", "service-account-admin-client"])
@pytest.mark.parametrize("password", ["", "x", "\0", "\u2603" * 1000])
def test_wrong_credentials_all_look_the_same(visitor: RealmClient, username: str, password: str) -> None:
    reply = visitor.token(grant_type="password", client_id="shasta", username=username, password=password)
    assert error(reply) == (400, "invalid_grant", "Invalid user credentials")
    assert ("Cache-Control", "no-store") in reply.headers


def test_a_password_is_needed(visitor: RealmClient) -> None:
    reply = visitor.token(grant_type="password", client_id="shasta", username="admin")
    assert error(reply) == (400, "invalid_grant", "Invalid user credentials")


def test_fields_that_come_twice(visitor: RealmClient) -> None:
    body = f"grant_type=password&client_id=shasta&username=admin&username=user&password={visitor.passwords['admin']}"
    reply = visitor.call("POST", f"{OIDC}/token", body.encode(), FORM)
    assert error(reply) == (400, "invalid_request", "duplicated parameter")


@pytest.mark.parametrize("media", ["application/json", "text/plain", "", "multipart/form-data; boundary=x"])
def test_what_is_no_form_is_an_empty_one(visitor: RealmClient, media: str) -> None:
    body = f"grant_type=password&client_id=shasta&username=admin&password={visitor.passwords['admin']}".encode()
    reply = visitor.call("POST", f"{OIDC}/token", body, {"content-type": media})
    assert error(reply) == (400, "invalid_request", "Missing form parameter: grant_type")
    charset = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}
    assert visitor.call("POST", f"{OIDC}/token", body, charset).status == 200


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_body_is_answered(visitor: RealmClient, body: bytes) -> None:
    prefix = b"grant_type=password&client_id=shasta&"
    for text in (body, prefix + body, prefix.replace(b"password", b"refresh_token") + b"refresh_token=" + body):
        assert visitor.call("POST", f"{OIDC}/token", text, FORM).status in (400, 401)


def test_a_service_account(visitor: RealmClient) -> None:
    form = {"grant_type": "client_credentials"}
    for name, role in (
        ("admin-client", "admin"),
        ("system-slingshot-client", "system-slingshot"),
        ("wlm-client", "wlm"),
    ):
        reply = visitor.token(**form, client_id=name, client_secret=visitor.secrets[name])
        answer = reply.json()
        assert list(answer) == [
            "access_token",
            "expires_in",
            "refresh_expires_in",
            "token_type",
            "not-before-policy",
            "scope",
        ]
        token_claims = claims(answer["access_token"])
        assert token_claims["resource_access"]["shasta"]["roles"] == [role]
        assert token_claims["preferred_username"] == f"service-account-{name}"
        assert "sid" not in token_claims
        assert visitor.token(_basic(name, visitor.secrets[name]), **form).status == 200
    reply = visitor.token(grant_type="password", client_id="wlm-client", client_secret=visitor.secrets["wlm-client"])
    assert error(reply) == (400, "unauthorized_client", "Client not allowed for direct access grants")


def test_refresh_tokens_stay_good(visitor: RealmClient) -> None:
    """Keycloak's default: a refresh token stays valid after its use."""
    answer = visitor.log_in("bea", scope="openid")
    form = {"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": answer["refresh_token"]}
    first, second = visitor.token(**form).json(), visitor.token(**form).json()
    assert list(first) == list(answer)
    assert first["session_state"] == answer["session_state"]
    assert first["refresh_token"] != answer["refresh_token"]
    assert claims(second["access_token"])["jti"] != claims(first["access_token"])["jti"]
    assert claims(second["access_token"])["preferred_username"] == "bea"
    assert visitor.token(**{**form, "refresh_token": first["refresh_token"]}).status == 200


def test_what_is_no_refresh_token_of_this_client(visitor: RealmClient) -> None:
    answer = visitor.log_in()
    form = {"grant_type": "refresh_token", "client_id": "shasta"}
    invalid = (400, "invalid_grant", "Invalid refresh token")
    assert error(visitor.token(**form, refresh_token=answer["access_token"])) == invalid
    assert error(visitor.token(**form, refresh_token=answer["refresh_token"][:-2])) == invalid
    other_client = {"client_id": "admin-client", "client_secret": visitor.secrets["admin-client"]}
    assert error(visitor.token(**{**form, **other_client}, refresh_token=answer["refresh_token"])) == (
        400,
        "invalid_grant",
        "Invalid refresh token. Token client and authorized client don't match",
    )


def test_a_refresh_token_is_good_under_the_name_it_was_given_out(visitor: RealmClient) -> None:
    body = f"grant_type=refresh_token&client_id=shasta&refresh_token={visitor.log_in()['refresh_token']}"
    inside = Call("POST", f"{OIDC}/token", (), FORM, body.encode(), base="http://keycloak:8080")
    expected = "Invalid token issuer. Expected 'http://keycloak:8080/keycloak/realms/shasta'"
    assert error(visitor.site.ask("keycloak", inside)) == (400, "invalid_grant", expected)


def test_offline_access(visitor: RealmClient) -> None:
    answer = visitor.log_in(scope="openid offline_access")
    assert answer["refresh_expires_in"] == 0
    assert claims(answer["refresh_token"])["typ"] == "Offline"
    assert "exp" not in claims(answer["refresh_token"])


def test_lifetimes_can_be_set(alone: RealmClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert alone.side("settings", {"access_token_lifespan": 60, "session_lifespan": 600}).status == 200
    answer = alone.log_in()
    assert (answer["expires_in"], answer["refresh_expires_in"]) == (60, 600)
    form = {"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": answer["refresh_token"]}
    start = time.time()
    monkeypatch.setattr(time, "time", lambda: start + 570)
    assert alone.token(**form).json()["expires_in"] in (29, 30)
    monkeypatch.setattr(time, "time", lambda: start + 601)
    assert error(alone.token(**form)) == (400, "invalid_grant", "Token is not active")


@pytest.mark.parametrize(
    "wrong", [{"access_token_lifespan": 0}, {"x": 1}, {"session_lifespan": "1"}, {"session_lifespan": True}]
)
def test_settings_that_make_no_sense(visitor: RealmClient, wrong: dict[str, object]) -> None:
    assert visitor.side("settings", wrong).status == 400
    assert visitor.log_in()["expires_in"] == YEAR


def test_sessions_and_keys_survive_a_restart(tmp_path: Path) -> None:
    state_file = StateFile(tmp_path / "s")
    first = RealmClient(Site(StartOptions(topologies.load("tiny"), seed=1, speed=0.0), state_file))
    answer = first.log_in()
    first.site.save()
    reopened_visitor = RealmClient(Site(StartOptions(topologies.load("tiny"), seed=1, speed=0.0), state_file))
    form = {"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": answer["refresh_token"]}
    reply = reopened_visitor.token(**form)
    assert reply.status == 200
    assert claims(reply.json()["access_token"], 0)["kid"] == claims(answer["access_token"], 0)["kid"]
    state_file.close()


def test_the_oldest_sessions_end_when_there_are_too_many(alone: RealmClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realm_module, "MAX_SESSIONS", 3)
    answers = [alone.log_in() for _ in range(4)]
    form = {"grant_type": "refresh_token", "client_id": "shasta"}
    assert error(alone.token(**form, refresh_token=answers[0]["refresh_token"]))[2] == "Session not active"
    assert alone.token(**form, refresh_token=answers[1]["refresh_token"]).status == 200


def test_rotation(alone: RealmClient) -> None:
    old = claims(alone.log_in()["access_token"], 0)["kid"]
    rotation = alone.side("rotate").json()
    assert rotation["keys"] == [old, rotation["active"]]
    assert claims(alone.log_in()["access_token"], 0)["kid"] == rotation["active"]

    def published() -> list[str]:
        return [key["kid"] for key in alone.get(f"{OIDC}/certs").json()["keys"] if key["use"] == "sig"]

    assert published() == [old, rotation["active"]]
    assert alone.side("drop", {"kid": rotation["active"]}).status == 409
    assert alone.side("drop", {"kid": "nope"}).status == 409
    assert alone.side("drop", {"kid": old}).status == 200
    assert published() == [rotation["active"]]


def test_the_side_channel_is_for_the_mesh_alone(visitor: RealmClient) -> None:
    for switch in ("rotate", "drop", "settings", "mint"):
        assert visitor.call("POST", f"/control/{switch}", b"{}").status == 404
        assert visitor.side(switch, []).status in (200, 409)
