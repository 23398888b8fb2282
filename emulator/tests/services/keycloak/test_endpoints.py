"""The realm's other endpoints."""

from __future__ import annotations

import time

import pytest

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.transport.call import Reply
from services.keycloak.conftest import BASE, OIDC, REALM, RealmClient, claims, error


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _challenge(reply: Reply) -> tuple[int, str]:
    return reply.status, dict(reply.headers)["WWW-Authenticate"]


GARBAGE = "abc"
INVALID = (401, 'Bearer realm="shasta", error="invalid_token", error_description="Token verification failed"')


def test_the_realm_and_its_discovery_document(visitor: RealmClient) -> None:
    realm = visitor.get(REALM).json()
    assert (realm["realm"], realm["token-service"]) == ("shasta", f"{BASE}/realms/shasta/protocol/openid-connect")
    document = visitor.get(f"{REALM}/.well-known/openid-configuration").json()
    assert document["issuer"] == f"{BASE}/realms/shasta"
    for name, url in document.items():
        if name.endswith(("_endpoint", "_uri")):
            path = "/keycloak" + url.removeprefix(BASE)
            assert visitor.get(path).status != 404, name


def test_a_slash_at_the_end_does_not_matter(visitor: RealmClient) -> None:
    for path in (REALM, f"{OIDC}/certs", f"{REALM}/.well-known/openid-configuration"):
        assert visitor.get(f"{path}/").body == visitor.get(path).body
        assert visitor.call("HEAD", path).status == 200


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/keycloak/realms/shasta/zzz", "HTTP 404 Not Found"),
        (f"{OIDC}/zzz", "HTTP 404 Not Found"),
        ("/keycloak/realms/nope", "Realm does not exist"),
        ("/keycloak/realms/shastax/protocol/openid-connect/certs", "Realm does not exist"),
        ("/keycloak/realms/master/protocol/openid-connect/certs", "HTTP 404 Not Found"),
        ("/keycloak/zzz", "Unable to find matching target resource method"),
        ("/keycloak/admin/realms/shasta/clients", "Unable to find matching target resource method"),
    ],
)
def test_what_is_not_there(visitor: RealmClient, path: str, problem: str) -> None:
    reply = visitor.get(path)
    assert (reply.status, reply.json()) == (404, {"error": problem})


def test_methods_that_are_not_there(visitor: RealmClient) -> None:
    for method, path in (("GET", f"{OIDC}/token"), ("PUT", f"{OIDC}/token"), ("POST", f"{OIDC}/certs")):
        reply = visitor.call(method, path)
        assert (reply.status, reply.json()) == (405, {"error": "HTTP 405 Method Not Allowed"})
    assert visitor.get(f"{OIDC}/auth").status == 501


def test_userinfo(visitor: RealmClient) -> None:
    token = visitor.log_in("bea", scope="openid")["access_token"]
    for reply in (
        visitor.get(f"{OIDC}/userinfo", _bearer(token)),
        visitor.post(f"{OIDC}/userinfo", access_token=token),
    ):
        assert reply.status == 200
        assert reply.json()["preferred_username"] == "bea"
        assert reply.json()["sub"] == claims(token)["sub"]
    secret = visitor.secrets["wlm-client"]
    form = {"grant_type": "client_credentials", "client_id": "wlm-client", "client_secret": secret, "scope": "openid"}
    service = visitor.token(**form).json()["access_token"]
    assert (
        visitor.get(f"{OIDC}/userinfo", _bearer(service)).json()["preferred_username"] == "service-account-wlm-client"
    )


def test_userinfo_requires_a_valid_token(visitor: RealmClient) -> None:
    where = f"{OIDC}/userinfo"
    plain = visitor.log_in()
    scope = 'error="insufficient_scope", error_description="Missing openid scope"'
    assert _challenge(visitor.get(where)) == (401, 'Bearer realm="shasta"')
    assert _challenge(visitor.get(where, {"authorization": "Basic abc"})) == (401, 'Bearer realm="shasta"')
    assert _challenge(visitor.get(where, _bearer(plain["access_token"]))) == (403, f'Bearer realm="shasta", {scope}')
    for bad in ("x", "x.y.z", plain["refresh_token"], plain["access_token"][:-3]):
        assert _challenge(visitor.get(where, _bearer(bad))) == INVALID
    assert visitor.post(where, _bearer("x"), access_token=GARBAGE).status == 400


def test_an_expired_token_at_userinfo(visitor: RealmClient, monkeypatch: pytest.MonkeyPatch) -> None:
    token = visitor.log_in(scope="openid")["access_token"]
    later = time.time() + 31_536_001
    monkeypatch.setattr(time, "time", lambda: later)
    assert _challenge(visitor.get(f"{OIDC}/userinfo", _bearer(token))) == INVALID


def test_tokens_called_expired_can_be_refreshed(alone: RealmClient) -> None:
    answer = alone.log_in(scope="openid")
    time.sleep(0.002)
    alone.site.faults.set(Fault("f1", "token-expiry", "keycloak", facts={"before": time.time()}))
    time.sleep(0.002)
    assert _challenge(alone.get(f"{OIDC}/userinfo", _bearer(answer["access_token"]))) == INVALID
    form = {"grant_type": "refresh_token", "client_id": "shasta", "refresh_token": answer["refresh_token"]}
    fresh = alone.token(**form).json()["access_token"]
    assert alone.get(f"{OIDC}/userinfo", _bearer(fresh)).status == 200


def test_logging_out_ends_the_session(visitor: RealmClient) -> None:
    answer = visitor.log_in(scope="openid")
    form = {"client_id": "shasta", "refresh_token": answer["refresh_token"]}
    assert visitor.post(f"{OIDC}/logout", **form).status == 204
    assert visitor.post(f"{OIDC}/logout", **form).status == 204
    assert error(visitor.token(grant_type="refresh_token", **form)) == (400, "invalid_grant", "Session not active")
    challenge = 'error="invalid_token", error_description="user_session_not_found"'
    reply = visitor.get(f"{OIDC}/userinfo", _bearer(answer["access_token"]))
    assert _challenge(reply) == (401, f'Bearer realm="shasta", {challenge}')
    garbage = visitor.post(f"{OIDC}/logout", client_id="shasta", refresh_token=GARBAGE)
    assert error(garbage) == (400, "invalid_grant", "Invalid refresh token")
    assert visitor.get(f"{OIDC}/logout").status == 200


def test_revoking(visitor: RealmClient) -> None:
    where = f"{OIDC}/revoke"
    answer = visitor.log_in(scope="openid")
    assert visitor.post(where, client_id="shasta", token=answer["access_token"]).status == 200
    assert _challenge(visitor.get(f"{OIDC}/userinfo", _bearer(answer["access_token"]))) == INVALID
    form = {"client_id": "shasta", "refresh_token": answer["refresh_token"]}
    assert visitor.token(grant_type="refresh_token", **form).status == 200
    assert visitor.post(where, client_id="shasta", token=answer["refresh_token"]).status == 200
    assert error(visitor.token(grant_type="refresh_token", **form))[2] == "Session not active"
    assert error(visitor.post(where, client_id="shasta", token=GARBAGE)) == (200, "invalid_token", "Invalid token")
    assert error(visitor.post(where, client_id="shasta")) == (400, "invalid_request", "Token not provided")
    assert error(visitor.post(where, token=GARBAGE))[:2] == (401, "invalid_client")
    other_token = visitor.log_in()["refresh_token"]
    mallory = {"client_id": "wlm-client", "client_secret": visitor.secrets["wlm-client"]}
    assert error(visitor.post(where, **mallory, token=other_token)) == (400, "invalid_request", "Unmatching clients")
    assert visitor.token(grant_type="refresh_token", client_id="shasta", refresh_token=other_token).status == 200


def test_introspection_requires_the_audience(visitor: RealmClient) -> None:
    where = f"{OIDC}/token/introspect"
    token = visitor.log_in("slingshot-admin")["access_token"]

    def caller(name: str) -> dict[str, str]:
        return {"client_id": name, "client_secret": visitor.secrets[name]}

    introspection = visitor.post(where, **caller("system-slingshot-client"), token=token).json()
    assert introspection == {
        **claims(token),
        "client_id": "shasta",
        "username": "slingshot-admin",
        "token_type": "Bearer",
        "active": True,
    }
    assert visitor.post(where, **caller("admin-client"), token=token).json() == {"active": False}
    assert visitor.post(where, **caller("system-slingshot-client"), token=GARBAGE).json() == {"active": False}
    assert error(visitor.post(where, client_id="shasta", token=token)) == (
        403,
        "invalid_request",
        "Client not allowed.",
    )
    assert error(visitor.post(where, token=token))[:2] == (401, "invalid_client")
    assert error(visitor.post(where, **caller("admin-client"))) == (400, "invalid_request", "Token not provided.")


@pytest.mark.parametrize(
    "odd", [{}, {"scope": 1}, {"scope": "openid"}, {"aud": 7}, {"aud": None}, {"sid": []}, {"azp": "shasta"}]
)
@pytest.mark.parametrize("kind", ["Bearer", "ID", "Refresh", None])
def test_genuine_tokens_of_an_odd_shape(visitor: RealmClient, odd: dict[str, object], kind: str | None) -> None:
    token = visitor.side("mint", {"iss": f"{BASE}/realms/shasta", "typ": kind, **odd}).json()["token"]
    assert visitor.get(f"{OIDC}/userinfo", _bearer(token)).status in (401, 403)
    caller = {"client_id": "wlm-client", "client_secret": visitor.secrets["wlm-client"]}
    assert visitor.post(f"{OIDC}/token/introspect", **caller, token=token).json() == {"active": False}
    assert visitor.post(f"{OIDC}/revoke", client_id="shasta", token=token).status in (200, 400)
    refreshed = visitor.token(grant_type="refresh_token", client_id="shasta", refresh_token=token)
    assert error(refreshed) == (400, "invalid_grant", "Invalid refresh token")
