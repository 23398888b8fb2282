"""Valid tokens, and invalid ones, for which the answer is always OPA's 403."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from csm_emulator.gateway import tokens
from csm_emulator.machine.faults.faults import Fault
from gateway.conftest import HERE, GatewayClient, bearer

GROUPS = "/apis/smd/hsm/v2/groups"
REALM = f"{HERE}/keycloak/realms/shasta"
ADMIN = {"iss": REALM, "aud": ["shasta"], "typ": "Bearer", "resource_access": {"shasta": {"roles": ["admin"]}}}


def _code(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _header(token: str) -> dict[str, Any]:
    text = token.split(".", maxsplit=1)[0]
    header: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return header


def test_an_administrator_gets_through_and_others_do_not(client: GatewayClient) -> None:
    assert client.status("GET", GROUPS, client.token("admin")) == 0
    for username in ("user", "slingshot-admin", "blue-admin"):
        assert client.status("GET", GROUPS, client.token(username)) == 403
    assert client.status("GET", GROUPS) == 403


def test_the_refusal_is_that_of_opa(client: GatewayClient) -> None:
    reply = client.find("GET", GROUPS)
    assert (reply.status, reply.body, reply.media) == (403, b"Unauthorized Request", "text/plain")
    assert ("x-ext-auth-allow", "no") in reply.headers
    assert ("server", "istio-envoy") in reply.headers


def test_a_token_with_a_foreign_signature(client: GatewayClient) -> None:
    good = client.log_in("admin")["access_token"]
    key = RSAKey.import_key(rsa.generate_private_key(65537, 2048))
    forged = jwt.encode({"alg": "RS256", "kid": _header(good)["kid"]}, ADMIN, key)
    assert client.status("GET", GROUPS, bearer(forged)) == 403
    unnamed = jwt.encode({"alg": "RS256"}, ADMIN, key)
    assert client.status("GET", GROUPS, bearer(unnamed)) == 403
    own = jwt.encode({"alg": "RS256", "jwk": key.as_dict(private=False), "kid": "mine"}, ADMIN, key)
    assert client.status("GET", GROUPS, bearer(own)) == 403


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", ""])
def test_an_unsigned_token(client: GatewayClient, algorithm: str) -> None:
    kid = _header(client.log_in("admin")["access_token"])["kid"]
    head = {"alg": algorithm, "typ": "JWT", "kid": kid}
    for signature in ("", "x"):
        assert client.status("GET", GROUPS, bearer(f"{_code(head)}.{_code(ADMIN)}.{signature}")) == 403


def test_the_public_key_as_the_secret_of_an_hmac(client: GatewayClient) -> None:
    realm = client.site.mesh.ask("keycloak", "GET", "/keycloak/realms/shasta").json()
    kid = _header(client.log_in("admin")["access_token"])["kid"]
    signed = f"{_code({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{_code(ADMIN)}"
    for secret in (realm["public_key"].encode(), base64.b64decode(realm["public_key"])):
        mac = hmac.digest(secret, signed.encode(), hashlib.sha256)
        assert client.status("GET", GROUPS, bearer(f"{signed}.{_code(mac)}")) == 403


def test_a_token_that_was_changed(client: GatewayClient) -> None:
    head, body, signature = client.log_in("user")["access_token"].split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["resource_access"]["shasta"]["roles"] = ["admin"]
    assert client.status("GET", GROUPS, bearer(f"{head}.{_code(claims)}.{signature}")) == 403


def test_other_tokens_of_the_realm_are_no_access_tokens(client: GatewayClient) -> None:
    answer = client.log_in("admin")
    assert client.status("GET", GROUPS, bearer(answer["refresh_token"])) == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": ["canton"]},
        {"aud": "shasta2"},
        {"aud": None},
        {"aud": {"shasta": 1}},
        {"aud": ["system-compute"]},
        {"iss": "https://evil.example/keycloak/realms/shasta"},
        {"iss": "https://localhost.evil.example/keycloak/realms/shasta"},
        {"iss": "https://localhost:8443/keycloak/realms/master"},
        {"iss": "https://localhost:8443/keycloak/realms/shasta/"},
        {"iss": None},
        {"iss": ["https://localhost:8443/keycloak/realms/shasta"]},
        {"exp": 1},
        {"exp": "tomorrow"},
        {"exp": None},
        {"nbf": 1e12},
        {"resource_access": {"shasta": {"roles": "admin"}}},
        {"resource_access": ["admin"]},
        {"resource_access": None},
    ],
)
def test_a_genuine_token_with_wrong_claims(client: GatewayClient, wrong: dict[str, Any]) -> None:
    assert client.status("GET", GROUPS, bearer(client.minted(**ADMIN))) == 0
    assert client.status("GET", GROUPS, bearer(client.minted(**{**ADMIN, **wrong}))) == 403


def test_a_token_ends_while_it_is_remembered(client: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> None:
    token = bearer(client.minted(**ADMIN))
    assert client.status("GET", GROUPS, token) == 0
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    assert client.status("GET", GROUPS, token) == 403


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1:9999", "[::1]:1", "api-gw-service-nmn.local", "auth.cmn.x.org"]
)
def test_every_name_of_the_gateway_is_an_issuer(client: GatewayClient, name: str) -> None:
    for scheme in ("http", "https"):
        token = client.minted(**{**ADMIN, "iss": f"{scheme}://{name}/keycloak/realms/shasta"})
        assert client.status("GET", GROUPS, bearer(token)) == 0


def test_a_token_is_good_where_it_was_given_out(client: GatewayClient) -> None:
    base = "https://emulator.lab:8443"
    token = bearer(client.log_in("admin", base)["access_token"])
    assert client.status("GET", GROUPS, token, base) == 0
    assert client.status("GET", GROUPS, token) == 403


@pytest.mark.parametrize(
    "scheme",
    [
        "bearer {}",
        "BEARER {}",
        "Bearer  {}",
        " Bearer {}",
        "Bearer {} ",
        "Bearer\t{}",
        "{}",
        "Basic {}",
        "Bearer",
        "Bearer {}, Bearer {}",
    ],
)
def test_the_scheme_before_the_token_is_exact(client: GatewayClient, scheme: str) -> None:
    token = client.log_in("admin")["access_token"]
    assert client.status("GET", GROUPS, {"authorization": scheme.replace("{}", token)}) == 403


def test_a_forwarded_token_counts_by_its_own_type(client: GatewayClient) -> None:
    admin, user_token = client.log_in("admin")["access_token"], client.log_in("user")["access_token"]
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": admin}) == 0
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": f"Bearer {admin}"}) == 403
    assert (
        client.status("GET", GROUPS, {"x-forwarded-access-token": client.minted(**{**ADMIN, "typ": "Invalid"})}) == 403
    )
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": admin, **bearer(admin)}) == 0
    # Two results for one rule are an error of OPA, and Envoy then answers 503.
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": admin, **bearer(user_token)}) == 503
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": "garbage", **bearer(admin)}) == 0


@pytest.mark.parametrize(
    "garbage",
    [
        "x",
        "..",
        "a.b.c",
        "a.b.c.d.e",
        "\0.\0.\0",
        "é.é.é",
        f"{_code([])}.{_code([])}.x",
        f"{_code({'alg': 'RS256', 'kid': []})}.{_code({})}.x",
        f"{_code({'alg': 'RS256', 'kid': 7})}.{_code({})}.x",
        f"{_code({'alg': ['RS256'], 'kid': 'x'})}.{_code({})}.x",
        f"{_code(b'[' * 100_000)}.{_code(b'[' * 100_000)}.x",
        f"{_code(b'NaN')}.x.x",
        "x" * 100_000,
    ],
)
def test_garbage_is_refused_as_everything_else(client: GatewayClient, garbage: str) -> None:
    assert client.status("GET", GROUPS, bearer(garbage)) == 403
    assert client.status("GET", GROUPS, {"x-forwarded-access-token": garbage}) == 403


def test_garbage_behind_a_genuine_kid(client: GatewayClient) -> None:
    kid = _header(client.log_in("admin")["access_token"])["kid"]
    for more in ({"crit": ["x"]}, {"b64": False, "crit": ["b64"]}, {"zip": "DEF"}, {"enc": "A128GCM"}):
        head = _code({"alg": "RS256", "kid": kid, **more})
        assert client.status("GET", GROUPS, bearer(f"{head}.{_code(b'[' * 50_000)}.{_code(b'x' * 256)}")) == 403


def test_the_key_for_encryption_signs_nothing(client: GatewayClient) -> None:
    client.log_in("admin")
    table = client.site.tables._tables["keycloak.keys"]
    kid, row = next((kid, row) for kid, row in table.items() if row.get("use") == "enc")
    forged = jwt.encode({"alg": "RS256", "kid": kid}, ADMIN, RSAKey.import_key(row["pem"]))
    assert client.status("GET", GROUPS, bearer(forged)) == 403


def test_a_node_may_only_write_its_own_records(client: GatewayClient) -> None:
    sub = "spiffe://shasta/compute/x1000c0s0b0n0/workload/heartbeat"
    token = bearer(client.minted(sub=sub))
    assert client.status("POST", "/apis/hbtd/hmi/v1/heartbeat/x1000c0s0b0n0", token) == 0
    assert client.status("POST", "/apis/hbtd/hmi/v1/heartbeat/x1000c0s0b0n1", token) == 403
    for wrong in ({"aud": ["shasta"]}, {"iss": REALM}, {"iss": "http://spire.local/other"}, {"exp": 1}):
        worse = bearer(client.minted(**{"sub": sub, **wrong}))
        assert client.status("POST", "/apis/hbtd/hmi/v1/heartbeat/x1000c0s0b0n0", worse) == 403


def test_rotation_keeps_old_tokens_good_until_their_key_is_dropped(own_client: GatewayClient) -> None:
    old = own_client.log_in("admin")["access_token"]
    assert own_client.status("GET", GROUPS, bearer(old)) == 0
    own_client.side("rotate")
    new = own_client.log_in("admin")["access_token"]
    assert _header(new)["kid"] != _header(old)["kid"]
    assert own_client.status("GET", GROUPS, bearer(new)) == 0
    assert own_client.status("GET", GROUPS, bearer(old)) == 0
    own_client.side("drop", {"kid": _header(old)["kid"]})
    own_client.gateway.tokens.forget()
    assert own_client.status("GET", GROUPS, bearer(old)) == 403
    assert own_client.status("GET", GROUPS, bearer(new)) == 0


def test_tokens_called_expired(own_client: GatewayClient) -> None:
    """A revocation ends all earlier tokens; a token that is refreshed in the same second is valid."""
    answer = own_client.log_in("admin")
    assert own_client.status("GET", GROUPS, bearer(answer["access_token"])) == 0
    own_client.site.faults.set(Fault("f1", "token-expiry", "keycloak", facts={"before": time.time()}))
    time.sleep(0.002)
    assert own_client.status("GET", GROUPS, bearer(answer["access_token"])) == 403
    assert own_client.status("GET", GROUPS, own_client.token("admin")) == 0
    own_client.site.faults.clear("f1")
    assert own_client.status("GET", GROUPS, bearer(answer["access_token"])) == 0


def test_without_a_moment_all_tokens_are_called_expired(own_client: GatewayClient) -> None:
    own_client.site.faults.set(Fault("f1", "token-expiry", "keycloak"))
    assert own_client.status("GET", GROUPS, own_client.token("admin")) == 403


def test_only_so_many_tokens_are_remembered(own_client: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 3)
    minted = [own_client.minted(**ADMIN, n=number) for number in range(5)]
    for token in minted:
        assert own_client.status("GET", GROUPS, bearer(token)) == 0
    assert list(own_client.gateway.tokens._verified) == minted[2:]
    assert own_client.status("GET", GROUPS, bearer(minted[0])) == 0


def test_without_keycloak_known_tokens_count_and_new_ones_do_not(own_client: GatewayClient) -> None:
    known_token = bearer(own_client.minted(**ADMIN))
    assert own_client.status("GET", GROUPS, known_token) == 0
    own_client.side("rotate")
    new = bearer(own_client.minted(**ADMIN))
    own_client.site.faults.set(Fault("f1", "service-restart", "keycloak"))
    assert own_client.status("GET", GROUPS, known_token) == 0
    assert own_client.status("GET", GROUPS, new) == 403
