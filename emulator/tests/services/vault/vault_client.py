"""Vault as a client sees it, without a network."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

from csm_emulator.seed_data.secrets import vault_root
from csm_emulator.services.keycloak.realm.users import users
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply
from service_client import Service

_TOKEN = "/keycloak/realms/shasta/protocol/openid-connect/token"  # noqa: S105 (a path)


class Vault(Service):
    """A client with the root token, unless ``token`` is another; paths are those below ``/v1``."""

    def __init__(self, site: Site, token: str | None = None) -> None:
        super().__init__(site, "vault", "/v1")
        self.token = vault_root(site.random) if token is None else token

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        token_headers = {"x-vault-token": self.token} if self.token else {}
        return super().ask(method, path, body, token_headers if headers is None else headers)

    def errors_of(self, method: str, path: str, body: Any = None) -> tuple[int, list[str]]:
        """Status and errors of a refusal, which has no other fields."""
        reply = self.ask(method, path, body)
        assert set(reply.json()) == {"errors"}, reply.body
        return reply.status, reply.json()["errors"]

    def data(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.ask(method, path, body)
        assert reply.status == 200, reply.body
        return reply.json()["data"]

    def do(self, method: str, path: str, body: Any = None) -> None:
        reply = self.ask(method, path, body)
        assert (reply.status, reply.body) == (204, b"")

    def login(self, jwt: str, mount: str = "jwt-manta-alps", role: str = "manta") -> dict[str, Any]:
        reply = self.ask("POST", f"/auth/{mount}/login", {"jwt": jwt, "role": role}, {})
        assert reply.status == 200, reply.body
        auth: dict[str, Any] = reply.json()["auth"]
        return auth


def account_token_of(site: Site, namespace: str, account: str) -> str:
    """The token of a service account, which Kubernetes puts into a secret."""
    path, name = f"/api/v1/namespaces/{namespace}/secrets", f"{account}-token"
    meta = {"name": name, "annotations": {"kubernetes.io/service-account.name": account}}
    body = {"metadata": meta, "type": "kubernetes.io/service-account-token"}
    assert site.mesh.ask("kubernetes", "POST", path, body).status == 201
    secret = site.mesh.ask("kubernetes", "GET", f"{path}/{name}").json()
    return base64.b64decode(secret["data"]["token"]).decode()


def jwt_of(site: Site, username: str = "admin") -> str:
    """A token of Keycloak."""
    password = next(user.password for user in users(site.context) if user.username == username)
    form = {"grant_type": "password", "client_id": "shasta", "username": username, "password": password}
    headers = {"content-type": "application/x-www-form-urlencoded"}
    call = Call("POST", _TOKEN, (), headers, urlencode(form).encode(), base="https://localhost:8443/keycloak")
    return str(site.ask("keycloak", call).json()["access_token"])
