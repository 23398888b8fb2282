"""A realm in this process."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.keycloak.realm.users import clients, users
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call, Reply
from services.keycloak.administrator import FORM

BASE = "https://localhost:8443/keycloak"
REALM = "/keycloak/realms/shasta"
OIDC = f"{REALM}/protocol/openid-connect"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


class RealmClient:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.passwords = {user.username: user.password for user in users(site.context)}
        self.secrets = {name: client.secret for name, client in clients(site.context).items()}

    def call(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        path, _, query = path.partition("?")
        pairs = tuple((pair.partition("=")[0], pair.partition("=")[2]) for pair in query.split("&") if pair)
        return self.site.ask("keycloak", Call(method, path, pairs, headers or {}, body, "192.0.2.1", BASE))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return self.call("GET", path, headers=headers)

    def post(self, path: str, headers: Any = None, **form: str) -> Reply:
        return self.call("POST", path, urlencode(form).encode(), {**FORM, **(headers or {})})

    def token(self, headers: Any = None, **form: str) -> Reply:
        return self.post(f"{OIDC}/token", headers, **form)

    def log_in(self, username: str = "admin", **more: str) -> dict[str, Any]:
        form = {"grant_type": "password", "client_id": "shasta", "username": username}
        reply = self.token(**{**form, "password": self.passwords[username], **more})
        assert reply.status == 200, reply.body
        tokens: dict[str, Any] = reply.json()
        return tokens

    def side(self, switch: str, body: Any = None) -> Reply:
        return self.site.mesh.ask("keycloak", "POST", f"/control/{switch}", {} if body is None else body)


def claims(token: str, part: int = 1) -> dict[str, Any]:
    text = token.split(".")[part]
    payload: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return payload


def error(reply: Reply) -> tuple[int, str, str]:
    body = reply.json()
    return reply.status, body["error"], body["error_description"]


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealmClient]:
    """Shared, because the generation of keys is slow: for tests that leave the realm as it was."""
    state_file = StateFile(tmp_path_factory.mktemp("realm") / "tiny.state")
    yield RealmClient(Site(StartOptions(topologies.load("tiny"), seed=1, speed=0.0), state_file))
    state_file.close()


@pytest.fixture
def alone(tiny: Site) -> RealmClient:
    return RealmClient(tiny)
