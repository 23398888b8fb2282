"""A server on the loopback interface for each test that uses ``api``, and callers with tokens of a test issuer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import uvicorn

from canton.api.app import create_app
from canton.api.events.hub import Hub
from canton.api.middleware import limits
from canton.api.middleware.rate_limits import RateLimits
from canton.api.services import Services
from canton.drivers.oidc import keyring
from canton.drivers.oidc.verify import OidcVerifier
from canton.policy.roles import BUILTIN
from canton.settings import loading
from canton.settings.model import IssuerEntry
from canton.store.database import Database, system_clock
from tokens import Mint, mint


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        """The code of the problem, if it is one."""
        problem = self.headers.get("content-type", "").startswith("application/problem+json")
        return self.json["code"] if problem else None


@dataclass(frozen=True)
class Api:
    """A server, seen by one caller; ``as_`` gives the same server seen by another."""

    url: str
    mint: Mint
    services: Services
    token: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_(self, user: str, *roles: str, **claims: Any) -> Api:
        return replace(self, token=self.mint.token(user, roles, **claims))

    def call(self, method: str, path: str, body: Any = None, *, reason: str | None = None, **headers: str) -> Reply:
        sent_headers = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        # The same for all requests, so that two answers can be compared byte by byte.
        sent_headers.setdefault("X-Request-Id", "of-a-test")
        if self.token is not None:
            sent_headers.setdefault("Authorization", f"Bearer {self.token}")
        if reason is not None:
            sent_headers["Canton-Reason"] = quote(reason)
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if raw is not None:
            sent_headers.setdefault("Content-Type", "application/json")
        where = urlsplit(self.url)
        connection = HTTPConnection(where.hostname or "", where.port, timeout=30)
        try:
            connection.request(method, path, raw, sent_headers)
            answer = connection.getresponse()
            lowered = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, lowered, answer.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, reason: str | None = "a test", **headers: str) -> Reply:
        return self.call("POST", path, body, reason=reason, **headers)


def made_services(database: Database, tokens: Mint, **changed: Any) -> Services:
    """``changed`` are fields of Services; settings may be given as a mapping of dotted names."""
    configured = loading.load({}, str(database.engine.url))
    # A test sends in a second what a person does in an hour.
    rates = RateLimits(1e6, 1e6, 1e6)
    verifier = changed.pop("verifier", None) or verifier_with_keys(tokens)
    default_services = Services(database, verifier, BUILTIN, configured, Hub(database), system_clock, rates)
    return replace(default_services, **changed)


def verifier_with_keys(tokens: Mint) -> OidcVerifier:
    """A verifier that has the issuer's keys: without it, a server on a busy machine might answer before they arrive."""
    verifier = OidcVerifier([tokens.settings])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyring, "MAX_WAIT", 60.0)
        verifier.verify(tokens.token("alice"))
    return verifier


def issuer_entry(name: str, audience: tuple[str, ...] = ("canton",), client_id: str = "canton") -> IssuerEntry:
    """A table ``[issuers.NAME]`` of a configuration, without rules."""
    return IssuerEntry(
        name,
        f"https://{name}",
        audience,
        client_id,
        preset=None,
        rules=(),
        username_claim="preferred_username",
        groups_claim="groups",
        person_claims=(),
        unmarked_tokens=False,
        ca=None,
        skew=0,
        longest_lifetime=60,
        keys_for=1,
        outage=1,
    )


@contextmanager
def serving(services: Services, tokens: Mint) -> Iterator[Api]:
    app = limits.guard(create_app(services), services.settings.api, lambda *_: None)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server did not start in time"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Api(f"http://127.0.0.1:{port}", tokens, services)
    finally:
        server.should_exit = True
        thread.join(20)
        services.refusals.flush(services.database)


@pytest.fixture(scope="session")
def tokens() -> Iterator[Mint]:
    with mint() as issuer:
        yield issuer


@pytest.fixture
def services(database: Database, tokens: Mint) -> Services:
    return made_services(database, tokens)


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    """A server without any caller; ``admin`` is the provider's."""
    with serving(services, tokens) as running:
        yield running


@pytest.fixture
def admin(api: Api) -> Api:
    return api.as_("root", "canton-provider-admin")
