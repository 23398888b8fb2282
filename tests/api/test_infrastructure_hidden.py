"""No answer names a host, port, user, database, path or what a database driver said, whatever fails behind the API."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from api.conftest import Api, made_services, serving
from asgi import request
from canton.api import health
from canton.api.events.hub import Hub
from canton.api.health import Health
from canton.api.metrics import Metrics
from canton.drivers.oidc.verify import OidcVerifier
from canton.store.database import Database, open_database
from free_ports import first_free_port
from tokens import Mint, mint

SERVICE_TOKEN = "canton_" + "a" * 16 + "_" + "b" * 43
NAMES = {"site": "alps", "tenant": "psi", "xname": "x1000c0s0b0n0", "code": "conflict"}
# What psycopg, libpq and SQLite write, beside the names of the test's own database.
TRACES = ("psycopg", "sqlite", "sqlalchemy", "connection to server", "127.0.0.1", "unable to open", "no such table")


def calls(api: Api) -> Iterator[tuple[str, str]]:
    """Every method of every address of the API, with names filled in."""
    for template, methods in api.get("/openapi.json").json["paths"].items():
        path = re.sub(r"\{(\w+)\}", lambda match: NAMES.get(match[1], "op_" + "0" * 16), template)
        yield from ((method.upper(), path) for method in methods)


def walk(api: Api, secrets: tuple[str, ...]) -> int:
    """Send every request as four callers; returns how many were refused because of the database."""
    callers = (api.as_("root", "canton-provider-admin"), api.as_("mallory"), api, with_token(api, SERVICE_TOKEN))
    unavailable = 0
    for method, path in calls(api):
        for caller in callers:
            body: Any = {} if method in ("POST", "PUT", "PATCH") else None
            answer = caller.call(method, path, body, reason="a test")
            text = (answer.text + json.dumps(dict(answer.headers))).lower()
            assert not [word for word in (*secrets, *TRACES) if word.lower() in text], f"{method} {path}: {text}"
            unavailable += answer.status == 503
    return unavailable


def with_token(api: Api, token: str) -> Api:
    return Api(api.url, api.mint, api.services, token)


def readyz(database: Database) -> Any:
    app = FastAPI()
    app.include_router(health.router(Health(database, Hub(database), Metrics())))
    return asyncio.run(request(app, "GET", "/readyz"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://castor:sesame@127.0.0.1:{port}/pollux",
        "postgresql://castor@127.0.0.1:{port}/pollux?password=sesame&sslpassword=sesame",
        "postgresql:///pollux?host=127.0.0.1:{port}&user=castor&password=sesame",
        "sqlite:////nowhere/pollux/castor.db",
    ],
)
def test_no_answer_tells_where_the_database_is(address: str, tokens: Mint, caplog: pytest.LogCaptureFixture) -> None:
    port = str(first_free_port(1))
    database = open_database(address.format(port=port))
    with serving(made_services(database, tokens), tokens) as api, caplog.at_level(logging.WARNING):
        assert walk(api, ("sesame", "castor", "pollux", "nowhere", port)) > 40
    assert "pollux" in caplog.text, "the server's log keeps the cause"
    assert "sesame" not in caplog.text
    answer = readyz(database)
    assert answer.status == 503
    assert not [word for word in ("sesame", "castor", "pollux", "nowhere", port) if word in answer.body.decode()]
    database.close()


@pytest.mark.parametrize("host", ["[", "u:p@h", "evil.example"])
@pytest.mark.parametrize("path", ["/v1/tenants/", "/v1/nodes/power/", "/healthz/"])
def test_a_slash_too_many_leads_nowhere(api: Api, path: str, host: str) -> None:
    """A redirect would name the address that the server listens on, or one that the client chose, and plain HTTP."""
    answer = api.get(path, Host=host)
    assert (answer.status, answer.headers.get("location")) == (404, None)


def test_a_damaged_file_is_not_named(tmp_path: Path, tokens: Mint) -> None:
    path = tmp_path / "pollux.db"
    path.write_text("nothing of the kind\n" * 100)
    database = open_database(f"sqlite:///{path}")
    with serving(made_services(database, tokens), tokens) as api:
        answer = api.as_("root", "canton-provider-admin").get("/v1/whoami")
    assert (answer.status, answer.code) == (500, "needs-human")
    assert "pollux" not in answer.text
    assert "file is not" not in answer.text
    database.close()


def test_a_database_without_tables_is_not_named(empty_database: Database, tokens: Mint) -> None:
    """Then every statement fails by an exception that is no fault of the connection."""
    url = empty_database.engine.url
    with serving(made_services(empty_database, tokens), tokens) as api:
        walk(api, (str(url.database), "relation", "select "))


def test_an_issuer_that_does_not_answer_is_named_by_its_name_only(database: Database) -> None:
    with mint() as stopped_issuer:
        token = stopped_issuer.token("alice")
        address = stopped_issuer.url
    with serving(
        made_services(database, stopped_issuer, verifier=OidcVerifier([stopped_issuer.settings])), stopped_issuer
    ) as api:
        answer = with_token(api, token).get("/v1/whoami")
    assert (answer.status, answer.code) == (503, "issuer-unavailable")
    assert address not in answer.text
    assert "refused" not in answer.text
