"""A Keycloak realm shaped like the one CSM keeps its users in, and the few calls of the admin API that tests need.

Every group has a realm role of the same name, ``pa_admin`` is the provider's, tokens are meant for ``shasta`` and for
``canton``. Run as a program with Keycloak's address it imports the realm ``shasta``, for trying things by hand.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

ADMIN = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "admin"}
GROUPS = ("psi", "cscs", "pa_admin")
SERVICE_SECRET = "a secret that guards nothing"  # noqa: S105  # of a realm that lives as long as a test run


def import_realm(base: str, name: str) -> None:
    call(base, "POST", "/admin/realms", realm(name))


def delete_realm(base: str, name: str) -> None:
    call(base, "DELETE", f"/admin/realms/{name}")


def call(base: str, method: str, path: str, body: object = None) -> Any:
    """One call of the admin API, with a fresh token: those of an administrator live for a minute."""
    token = _request("POST", f"{base}/realms/master/protocol/openid-connect/token", urllib.parse.urlencode(ADMIN))
    data = None if body is None else json.dumps(body)
    headers = {"Authorization": f"Bearer {token['access_token']}", "Content-Type": "application/json"}
    return _request(method, base + path, data, headers)


def _request(method: str, url: str, data: str | None, headers: dict[str, str] | None = None) -> Any:
    request = urllib.request.Request(url, None if data is None else data.encode(), headers or {}, method=method)  # noqa: S310
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def realm(name: str) -> dict[str, Any]:
    return {
        "realm": name,
        "enabled": True,
        "sslRequired": "none",
        "accessTokenLifespan": 300,
        "revokeRefreshToken": True,
        "refreshTokenMaxReuse": 0,
        "oauth2DeviceCodeLifespan": 60,
        "oauth2DevicePollingInterval": 1,
        "roles": {"realm": [{"name": group} for group in GROUPS]},
        "groups": [{"name": group, "realmRoles": [group]} for group in GROUPS],
        "clients": [_shasta(), _command_line(), _console(), _service()],
        "users": [
            user("alice", "Alice Psi", "psi"),
            user("bob", "Bob Cscs", "cscs"),
            user("carol", "Carol Both", "psi", "cscs"),
            user("ruth", "Ruth Root", "pa_admin"),
            user("nemo", "Nemo Niemand"),
            {
                "username": "service-account-canton-robot",
                "enabled": True,
                "serviceAccountClientId": "canton-robot",
                "realmRoles": ["psi"],
            },
        ],
    }


def password(username: str) -> str:
    return f"{username} likes long passwords"


def user(username: str, name: str, *groups: str) -> dict[str, Any]:
    first, last = name.split()
    return {
        "username": username,
        "enabled": True,
        "email": f"{username}@example.org",
        "emailVerified": True,
        "firstName": first,
        "lastName": last,
        "credentials": [{"type": "password", "value": password(username), "temporary": False}],
        "groups": [f"/{group}" for group in groups],
    }


def _shasta() -> dict[str, Any]:
    return _client("shasta", publicClient=True, directAccessGrantsEnabled=True, redirectUris=["http://127.0.0.1/*"])


def _command_line() -> dict[str, Any]:
    return _client(
        "canton-cli",
        publicClient=True,
        standardFlowEnabled=False,
        attributes={"oauth2.device.authorization.grant.enabled": "true"},
    )


def _console() -> dict[str, Any]:
    return _client(
        "canton-web",
        publicClient=True,
        redirectUris=["http://127.0.0.1:8700/callback"],
        attributes={"pkce.code.challenge.method": "S256"},
    )


def _service() -> dict[str, Any]:
    return _client(
        "canton-robot",
        publicClient=False,
        secret=SERVICE_SECRET,
        serviceAccountsEnabled=True,
        standardFlowEnabled=False,
    )


def _client(identity: str, **more: Any) -> dict[str, Any]:
    mappers = [_audience("shasta"), _audience("canton"), _groups()]
    return {"clientId": identity, "directAccessGrantsEnabled": False, "protocolMappers": mappers} | more


def _audience(name: str) -> dict[str, Any]:
    config = {"included.custom.audience": name, "access.token.claim": "true", "id.token.claim": "false"}
    return _mapper(f"for {name}", "oidc-audience-mapper", config)


def _groups() -> dict[str, Any]:
    config = {"full.path": "true", "claim.name": "groups", "access.token.claim": "true", "id.token.claim": "true"}
    return _mapper("groups", "oidc-group-membership-mapper", config)


def _mapper(name: str, kind: str, config: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "protocol": "openid-connect", "protocolMapper": kind, "config": config}


if __name__ == "__main__":
    import_realm(sys.argv[1], "shasta")
