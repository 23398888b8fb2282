"""Two issuers with one interface: the embedded one, and a Keycloak with a realm like CSM's. Same people and clients."""

from __future__ import annotations

import hashlib
import secrets
import socket
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import uvicorn
from fastapi import FastAPI

import keycloak_realm
from canton.issuer import keys
from canton.issuer.app import create_issuer
from canton.issuer.passwords import hash_password
from canton.issuer.settings import Client, EmbeddedIssuer, User
from canton.issuer.state import State
from identity.browser import Answer, Browser
from identity.fake_issuer import header_of

KEYCLOAK = "CANTON_TEST_KEYCLOAK"
CALLBACK = "http://127.0.0.1:8700/callback"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


class Issuer(Protocol):
    url: str

    @property
    def endpoints(self) -> dict[str, Any]: ...

    def add_key(self) -> None:
        """Add a key that signs from now on; the old ones are still published."""

    def drop_key(self, kid: str) -> None: ...

    def press_to_allow(self, browser: Browser, page: Answer, username: str) -> Answer: ...


class _Discovered:
    url: str

    @cached_property
    def endpoints(self) -> dict[str, Any]:
        return Browser().get(f"{self.url}/.well-known/openid-configuration").json


class Embedded(_Discovered):
    def __init__(self, url: str, settings: EmbeddedIssuer) -> None:
        self.url = url
        self.settings = settings

    def add_key(self) -> None:
        keys.rotate_key(State(self.settings.state))

    def drop_key(self, kid: str) -> None:  # noqa: ARG002  # it is the old one
        keys.drop_old_keys(State(self.settings.state))

    def press_to_allow(self, browser: Browser, page: Answer, username: str) -> Answer:
        filled = {"username": username, "password": keycloak_realm.password(username)}
        return browser.submit(page, filled, press="allow")


class Keycloak(_Discovered):
    def __init__(self, base: str, realm: str) -> None:
        self.url = f"{base}/realms/{realm}"
        self._base = base
        self._realm = f"/admin/realms/{realm}"

    def add_key(self) -> None:
        component = {
            "name": secrets.token_hex(4),
            "providerId": "rsa-generated",
            "providerType": "org.keycloak.keys.KeyProvider",
            "config": {"priority": [str(int(time.time()))], "algorithm": ["RS256"], "keySize": ["2048"]},
        }
        keycloak_realm.call(self._base, "POST", f"{self._realm}/components", component)

    def drop_key(self, kid: str) -> None:
        keys = keycloak_realm.call(self._base, "GET", f"{self._realm}/keys")["keys"]
        (provider,) = (key["providerId"] for key in keys if key["kid"] == kid)
        keycloak_realm.call(self._base, "DELETE", f"{self._realm}/components/{provider}")

    @contextmanager
    def changed_client(self, client: str, **changes: Any) -> Iterator[None]:
        """Change the client's settings while the block lasts; ``attributes`` are added to the existing ones."""
        (client_before,) = keycloak_realm.call(self._base, "GET", f"{self._realm}/clients?clientId={client}")
        path = f"{self._realm}/clients/{client_before['id']}"
        changed = {**client_before, **changes}
        added = dict.fromkeys(changes.get("attributes", {}), "")
        changed["attributes"] = {**client_before["attributes"], **changes.get("attributes", {})}
        keycloak_realm.call(self._base, "PUT", path, changed)
        try:
            yield
        finally:
            # An attribute that is left out stays; an empty one is removed.
            restored = {**client_before, "attributes": {**added, **client_before["attributes"]}}
            keycloak_realm.call(self._base, "PUT", path, restored)

    def press_to_allow(self, browser: Browser, page: Answer, username: str) -> Answer:
        consent = browser.follow(browser.log_in(browser.follow(page), username))
        return browser.follow(browser.submit(consent, {}, press="accept"))


@dataclass(frozen=True)
class Pkce:
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        return urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


def login_address(issuer: Issuer, challenge: str, **changes: str | None) -> str:
    """The address to which the console sends a browser; a change to None leaves the parameter out."""
    parameters: dict[str, str | None] = {
        "response_type": "code",
        "client_id": "canton-web",
        "redirect_uri": CALLBACK,
        "scope": "openid",
        "state": "a state",
        "nonce": "a nonce",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    fields = {name: value for name, value in (parameters | changes).items() if value is not None}
    return f"{issuer.endpoints['authorization_endpoint']}?{urlencode(fields)}"


def code_for(issuer: Issuer, username: str, pkce: Pkce) -> str:
    browser = Browser()
    answer = browser.log_in(browser.get(login_address(issuer, pkce.challenge)), username)
    assert answer.status in (302, 303), answer.text[:2000]
    assert answer.headers["Location"].startswith(f"{CALLBACK}?")
    assert answer.sent_to["state"] == "a state"
    return answer.sent_to["code"]


def ask_token(issuer: Issuer, client: str, **fields: str) -> Answer:
    return Browser().post(issuer.endpoints["token_endpoint"], {"client_id": client, **fields})


def redeem(issuer: Issuer, code: str, **changes: str) -> Answer:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "client_id": "canton-web"}
    return Browser().post(issuer.endpoints["token_endpoint"], form | changes)


def log_in(issuer: Issuer, username: str) -> dict[str, Any]:
    pkce = Pkce()
    answer = redeem(issuer, code_for(issuer, username, pkce), code_verifier=pkce.verifier)
    assert answer.status == 200, answer.text
    return answer.json


def refresh(issuer: Issuer, token: str, client: str = "canton-web") -> Answer:
    return ask_token(issuer, client, grant_type="refresh_token", refresh_token=token)


def kid_of(token: str) -> str:
    return str(header_of(token)["kid"])


@contextmanager
def keycloak(base: str) -> Iterator[Keycloak]:
    """A realm for this process: tests in other processes rotate their own realms' keys."""
    name = f"shasta-{secrets.token_hex(4)}"
    keycloak_realm.import_realm(base, name)
    try:
        yield Keycloak(base, name)
    finally:
        keycloak_realm.delete_realm(base, name)


def embedded_settings(url: str, state: Path, **changes: Any) -> EmbeddedIssuer:
    """Settings with the people and clients of the realm; a group's role has the group's name, as in CSM."""
    settings: dict[str, Any] = {
        "url": url,
        "state": state,
        "users": (
            _user("alice", "Alice Psi", "psi"),
            _user("bob", "Bob Cscs", "cscs"),
            _user("carol", "Carol Both", "psi", "cscs"),
            _user("ruth", "Ruth Root", "pa_admin"),
            _user("nemo", "Nemo Niemand"),
        ),
        "clients": (
            Client("canton-cli", grants=("device_code", "refresh_token")),
            Client("canton-web", redirect_uris=(CALLBACK,), grants=("authorization_code", "refresh_token")),
            Client("canton-native", None, ("http://127.0.0.1/callback",), ("authorization_code", "device_code")),
            Client("canton-robot", keycloak_realm.SERVICE_SECRET, grants=("client_credentials",), roles=("psi",)),
        ),
        "device_interval": 1,
    }
    return EmbeddedIssuer(**(settings | changes))


def _user(username: str, name: str, *groups: str) -> User:
    return User(
        username, name, _hashed(keycloak_realm.password(username)), tuple(f"/{group}" for group in groups), groups
    )


@cache
def _hashed(password: str) -> str:
    """The hash of the password, computed once: hashing is slow on purpose."""
    return hash_password(password)


@contextmanager
def embedded(state: Path, **changes: Any) -> Iterator[Embedded]:
    """The embedded issuer on a port of its own, below /issuer, as the server mounts it."""
    clock = changes.pop("clock", time.time)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/issuer"
        settings = embedded_settings(url, state, **changes)
        outer = FastAPI(openapi_url=None)
        outer.mount(urlsplit(url).path, create_issuer(settings, clock))
        with _served(outer, listener):
            yield Embedded(url, settings)


@contextmanager
def _served(app: FastAPI, listener: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_config=None, loop="asyncio"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    for _ in range(500):
        if server.started:
            break
        time.sleep(0.01)
    assert server.started
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
