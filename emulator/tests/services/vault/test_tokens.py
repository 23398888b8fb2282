"""Logins, the rights of tokens, and their lifetimes."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, urlsafe_b64encode
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from csm_emulator.seed_data.secrets import vcs_token
from csm_emulator.transport.call import Reply
from service_client import GARBAGE, Spy, reopen
from services.vault.vault_client import Vault, account_token_of, jwt_of

DENIED = (403, ["permission denied"])
NOT_YOURS = (403, ["1 error occurred:\n\t* permission denied\n\n"])
INVALID = (403, ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"])
UNSIGNED = (
    "error validating token: error verifying token signature: no known key successfully validated the token signature"
)


def test_without_a_token_only_health_is_open(vault: Vault) -> None:
    stranger = Vault(vault.site, "")
    assert stranger.ask("GET", "/sys/health").json()["sealed"] is False
    assert stranger.ask("HEAD", "/sys/health").status == 200
    assert stranger.ask("GET", "/sys/seal-status").json()["initialized"] is True
    for path in ("/secret/data/a", "/sys/mounts", "/auth/token/lookup-self", "/nothing", "/sys/policy/root"):
        assert stranger.errors_of("GET", path) == DENIED
        assert Vault(vault.site, "hvs.wrong").errors_of("GET", path) == INVALID
        assert Vault(vault.site, "\ud800").errors_of("GET", path) == INVALID


def test_a_site_of_manta_may_have_any_name(vault: Vault) -> None:
    auth = vault.login(jwt_of(vault.site), "jwt-manta-cscs_prod")
    manta = Vault(vault.site, auth["client_token"])
    for name in ("k8s", "vcs"):
        assert manta.data("GET", f"/manta/data/cscs_prod/{name}") == manta.data("GET", f"/manta/data/alps/{name}")
    vault.data("POST", "/manta/data/cscs_prod/vcs", {"data": {"token": "own"}})
    assert manta.data("GET", "/manta/data/cscs_prod/vcs")["data"] == {"token": "own"}
    assert manta.data("GET", "/manta/data/other/vcs")["data"] != {"token": "own"}
    assert manta.ask("GET", "/manta/data/other/nothing").status == 404


def test_manta_reads_what_it_needs_and_nothing_else(vault: Vault) -> None:
    site = vault.site
    site.context.public_addresses.kubernetes_ca = "CA"
    site.context.public_addresses.kubernetes_key = "KEY"
    auth: dict[str, Any] = {}
    for name in ("alps", site.machine.topology.name, "any-other"):
        auth = vault.login(jwt_of(site), f"jwt-manta-{name}")
        assert (auth["policies"], auth["lease_duration"], auth["metadata"]) == (
            ["default", "manta"],
            3600,
            {"role": "manta"},
        )
    manta = Vault(site, auth["client_token"])
    for name in ("alps", site.machine.topology.name):
        secret = manta.data("GET", f"/manta/data/{name}/k8s")["data"]
        assert set(secret) == {"certificate-authority-data", "client-certificate-data", "client-key-data"}
        assert (b64decode(secret["certificate-authority-data"]), b64decode(secret["client-key-data"])) == (
            b"CA",
            b"KEY",
        )
        assert manta.data("GET", f"/manta/data/{name}/vcs")["data"] == {"token": vcs_token(site.random)}
    assert manta.ask("GET", "/manta/data/alps/vcs", headers={"authorization": f"Bearer {manta.token}"}).status == 200
    assert manta.data("LIST", "/manta/metadata") == {"keys": sorted({"alps/", f"{site.machine.topology.name}/"})}
    for method, path in [
        ("GET", "/secret/data/csm/users/root"),
        ("POST", "/manta/data/alps/vcs"),
        ("DELETE", "/manta/metadata/alps/vcs"),
        ("GET", "/sys/mounts"),
        ("POST", "/sys/mounts/mine"),
        ("POST", "/sys/policy/manta"),
        ("POST", "/auth/token/create"),
        ("POST", "/auth/jwt/role/manta"),
    ]:
        assert manta.errors_of(method, path, {"data": {}}) == NOT_YOURS


def _forged(site: Any) -> list[str]:
    genuine = jwt_of(site)
    head, claims, mark = genuine.split(".")
    stranger = RSAKey.generate_key(2048)
    kid = jwt.decode(genuine, _published(site), algorithms=["RS256"]).header["kid"]
    forged_claims = {"aud": "shasta", "sub": "x", "exp": 4_000_000_000}
    none = urlsafe_b64encode(b'{"alg":"none","kid":"' + kid.encode() + b'"}').decode().rstrip("=")
    return [
        f"{head}.{claims}.{mark[:-6]}AAAAAA",
        f"{none}.{claims}.",
        jwt.encode({"alg": "RS256", "kid": kid}, forged_claims, stranger),
        jwt.encode({"alg": "RS256", "kid": "other"}, forged_claims, stranger),
        _signed_with_what_is_public(site, kid, claims),
        "garbage",
        "a.b.c",
        "..",
    ]


def _signed_with_what_is_public(site: Any, kid: str, claims: str) -> str:
    """A token that is signed with public data, for a server that lets the token choose the algorithm."""
    head = urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": kid}).encode()).decode().rstrip("=")
    signing_input = f"{head}.{claims}"
    mark = hmac.digest(_published(site).as_pem(private=False), signing_input.encode(), "sha256")
    return f"{signing_input}.{urlsafe_b64encode(mark).decode().rstrip('=')}"


def _published(site: Any) -> RSAKey:
    keys = site.mesh.ask("keycloak", "GET", "/keycloak/realms/shasta/protocol/openid-connect/certs").json()["keys"]
    return RSAKey.import_key(next(key for key in keys if key["use"] == "sig"))


def test_a_forged_token_opens_nothing(vault: Vault) -> None:
    for forged in _forged(vault.site):
        assert vault.errors_of("POST", "/auth/jwt/login", {"jwt": forged, "role": "manta"}) == (400, [UNSIGNED])
        assert vault.errors_of("POST", "/auth/kubernetes/login", {"jwt": forged, "role": "tapms-operator"}) == DENIED


def test_at_the_mount_of_the_cluster_only_its_accounts_log_in(vault: Vault) -> None:
    def log_in(token: str, role: str) -> tuple[int, list[str]]:
        return vault.errors_of("POST", "/auth/kubernetes/login", {"jwt": token, "role": role})

    for person in ("admin", "user"):
        assert log_in(jwt_of(vault.site, person), "tapms-operator") == DENIED
    stranger = account_token_of(vault.site, "user", "default")
    assert log_in(stranger, "tapms-operator") == (403, ["namespace not authorized"])
    neighbour = account_token_of(vault.site, "tapms-operator", "default")
    assert log_in(neighbour, "tapms-operator") == (403, ["service account name not authorized"])
    assert log_in(f"{neighbour}x", "tapms-operator") == DENIED
    free = {"bound_service_account_names": "*", "bound_service_account_namespaces": "user", "policies": "default"}
    vault.do("PUT", "/auth/kubernetes/role/free", free)
    assert vault.login(stranger, "kubernetes", "free")["policies"] == ["default"]
    assert log_in(neighbour, "free") == (403, ["namespace not authorized"])
    vault.do("PUT", "/auth/kubernetes/role/free", {"policies": "default"})
    assert log_in(stranger, "free") == (403, ["namespace not authorized"])


@pytest.mark.parametrize("mount", ["kubernetes", "jwt"])
def test_no_role_makes_a_root(vault: Vault, mount: str) -> None:
    role = {"token_policies": ["root"], "bound_service_account_names": "*", "bound_service_account_namespaces": "*"}
    vault.do("PUT", f"/auth/{mount}/role/x", role)
    token = jwt_of(vault.site) if mount == "jwt" else account_token_of(vault.site, "user", "default")
    refused = vault.errors_of("POST", f"/auth/{mount}/login", {"jwt": token, "role": "x"})
    assert refused == (400, ["auth methods cannot create root tokens"])


def test_a_token_that_is_over_or_for_others_opens_nothing(vault: Vault) -> None:
    site, spy = vault.site, Spy(vault.site)
    key = RSAKey.generate_key(2048, {"kid": "k", "use": "sig"})
    spy.instead["keycloak"] = Reply(200, b'{"keys": [' + _json(key) + b"]}")

    def say(**claims: Any) -> tuple[int, list[str]]:
        token = jwt.encode({"alg": "RS256", "kid": "k"}, {"aud": "shasta", "exp": 4_000_000_000, **claims}, key)
        reply = vault.ask("POST", "/auth/jwt/login", {"jwt": token, "role": "manta"}, {})
        return reply.status, reply.json().get("errors", [])

    prefix = "error validating token: "
    assert say() == (200, [])
    assert say(aud=["account", "shasta"]) == (200, [])
    assert say(exp=1) == (400, [prefix + "invalid expiration time (exp) claim: token is expired"])
    assert say(nbf=3_999_999_999) == (400, [prefix + "invalid not before (nbf) claim: token not yet valid"])
    wrong_audience = "invalid audience (aud) claim: audience claim does not match any expected audience"
    assert say(aud="account") == say(aud=None) == (400, [prefix + wrong_audience])
    spy.instead["keycloak"] = Reply(503)
    assert say() == (500, [prefix + "fetching keys oidc: get keys failed"])
    del spy.instead["keycloak"]
    genuine = jwt_of(site)
    vault.break_("token-expiry", "keycloak", before=4_000_000_000)
    assert vault.errors_of("POST", "/auth/jwt/login", {"jwt": genuine, "role": "manta"})[0] == 400


def _json(key: RSAKey) -> bytes:
    return json.dumps(key.as_dict(private=False, kid="k", use="sig")).encode()


@pytest.mark.parametrize(
    ("mount", "body", "message"),
    [
        ("jwt", {"role": "manta"}, "missing token"),
        ("jwt", {"jwt": "x"}, "missing role"),
        ("jwt", {"jwt": "x", "role": "none"}, 'role "none" could not be found'),
        ("kubernetes", {"jwt": "x", "role": "none"}, 'invalid role name "none"'),
        ("jwt", {"jwt": [], "role": "manta"}, "error converting input for field 'jwt'"),
    ],
)
def test_a_login_without_its_fields(vault: Vault, mount: str, body: Any, message: str) -> None:
    assert vault.errors_of("POST", f"/auth/{mount}/login", body) == (400, [message])
    assert vault.errors_of("POST", "/auth/jwt-manta-/login", body) == DENIED


def test_a_token_lives_as_long_as_it_is_renewed(vault: Vault) -> None:
    mine = Vault(vault.site, vault.login(jwt_of(vault.site))["client_token"])
    token = mine.data("GET", "/auth/token/lookup-self")
    assert (token["id"], token["ttl"], token["path"]) == (mine.token, 3600, "auth/jwt-manta-alps/login")
    vault.step(3000)
    assert mine.data("GET", "/auth/token/lookup-self")["ttl"] == 600
    assert mine.ask("POST", "/auth/token/renew-self").json()["auth"]["lease_duration"] == 3600
    vault.step(3000)
    assert mine.ask("GET", "/auth/token/lookup-self").status == 200
    reopened_vault = Vault(reopen(vault.site), mine.token)
    assert reopened_vault.data("GET", "/auth/token/lookup-self")["ttl"] == 600
    reopened_vault.step(601)
    assert reopened_vault.errors_of("GET", "/auth/token/lookup-self") == INVALID
    assert len(reopened_vault.site.tables._tables["vault.tokens"]) == 0


def test_a_revoked_token_is_over(vault: Vault) -> None:
    mine = Vault(vault.site, vault.login(jwt_of(vault.site))["client_token"])
    mine.do("POST", "/auth/token/revoke-self")
    assert mine.errors_of("GET", "/auth/token/lookup-self") == INVALID
    other_token = vault.login(jwt_of(vault.site))["client_token"]
    assert other_token != mine.token
    vault.do("POST", "/auth/token/revoke", {"token": other_token})
    assert vault.errors_of("POST", "/auth/token/lookup", {"token": other_token}) == (403, ["bad token"])
    vault.do("POST", "/auth/token/revoke", {"token": vault.token})
    assert vault.data("GET", "/auth/token/lookup-self")["policies"] == ["root"]


def test_no_token_is_in_the_file(vault: Vault) -> None:
    token = vault.login(jwt_of(vault.site))["client_token"]
    vault.site.save()
    assert all(token not in (value or "") for _, _, value in vault.site.state_file.rows())


def test_policies_are_what_they_say(vault: Vault) -> None:
    text = """
    # of one folder
    path "secret/data/team/*" { capabilities = ["create", "read"] }
    path "secret/data/team/closed" { capabilities = ["deny"] }
    path "secret/data/+/shared" { capabilities = ["read"] }
    """
    vault.do("PUT", "/sys/policy/team", {"policy": text})
    assert vault.data("GET", "/sys/policy/team")["rules"] == text
    auth = vault.ask("POST", "/auth/token/create", {"policies": ["team"], "ttl": "1h"}).json()["auth"]
    assert (auth["policies"], auth["lease_duration"]) == (["default", "team"], 3600)
    team = Vault(vault.site, auth["client_token"])
    for path in ("team/a", "team/closed", "any/shared"):
        vault.data("POST", f"/secret/data/{path}", {"data": {}})
    assert team.ask("POST", "/secret/data/team/a", {"data": {}}).status == 200
    assert team.errors_of("GET", "/secret/data/team/closed") == NOT_YOURS
    assert team.ask("GET", "/secret/data/any/shared").status == 200
    assert team.errors_of("GET", "/secret/data/any/other") == NOT_YOURS
    assert team.errors_of("DELETE", "/secret/data/team/a") == NOT_YOURS
    body = {"paths": ["secret/data/team/a", "secret/data/team/closed"]}
    capabilities = team.data("POST", "/sys/capabilities-self", body)
    assert capabilities == {"secret/data/team/a": ["create", "read"], "secret/data/team/closed": ["deny"]}
    assert team.errors_of("POST", "/auth/token/create", {}) == NOT_YOURS
    vault.do("DELETE", "/sys/policy/team")
    assert team.errors_of("GET", "/secret/data/any/shared") == NOT_YOURS
    assert vault.errors_of("PUT", "/sys/policy/bad", {"policy": "nonsense"})[0] == 400
    assert vault.errors_of("PUT", "/sys/policy/root", {"policy": "x"})[0] == 400
    assert vault.errors_of("DELETE", "/sys/policy/default") == (400, ['cannot delete "default" policy'])


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"a/b/other": ["read"]}, ["deny"]),
        ({"a/*": ["deny"], "a/b/c": ["read"]}, ["read"]),
        ({"a/+/c": ["deny"], "a/b/c": ["read"]}, ["read"]),
        ({"+/+/+": ["read"], "a/b/c": ["list"]}, ["list"]),
        ({"a/*": ["read"], "a/b/*": ["list", "update"]}, ["list", "update"]),
        ({"a/b/c": ["deny", "read"]}, ["deny"]),
        ({"a/b/": ["read"]}, ["deny"]),
        ({"+/b/*": ["read"]}, ["read"]),
        ({"+/x/*": ["read"]}, ["deny"]),
        ({"a/+": ["read"]}, ["deny"]),
    ],
)
def test_the_rule_that_fits_best_counts(vault: Vault, rules: dict[str, list[str]], expected: list[str]) -> None:
    text = "\n".join(
        f'path "{path}" {{ capabilities = {json.dumps(capabilities)} }}' for path, capabilities in rules.items()
    )
    vault.do("PUT", "/sys/policy/team", {"policy": text})
    auth = vault.ask("POST", "/auth/token/create", {"policies": ["team"]}).json()["auth"]
    team = Vault(vault.site, auth["client_token"])
    assert team.data("POST", "/sys/capabilities-self", {"paths": ["a/b/c"]})["a/b/c"] == expected


def test_two_policies_give_what_either_gives(vault: Vault) -> None:
    for name, word in (("one", "read"), ("two", "list")):
        vault.do("PUT", f"/sys/policy/{name}", {"policy": f'path "a/*" {{ capabilities = ["{word}"] }}'})
    auth = vault.ask("POST", "/auth/token/create", {"policies": ["one", "two"]}).json()["auth"]
    team = Vault(vault.site, auth["client_token"])
    assert team.data("POST", "/sys/capabilities-self", {"paths": ["a/b"]})["a/b"] == ["list", "read"]


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_answered(vault: Vault, body: bytes) -> None:
    for path in (
        "/auth/jwt/login",
        "/auth/token/create",
        "/auth/token/lookup",
        "/auth/token/renew-self",
        "/auth/kubernetes/role/x",
        "/sys/policy/x",
        "/sys/mounts/x",
        "/sys/capabilities-self",
        "/secret/data/x",
        "/secret/metadata/x",
        "/secret/delete/x",
        "/secret/config",
        "/transit/keys/x",
    ):
        assert vault.ask("POST", path, body).status in (200, 204, 400)
    assert vault.ask("PATCH", "/secret/data/none", body).status in (400, 404)
