"""``docs/reference/openapi.json``: what the code says, with examples that a real server gave.

``WALK`` is played against the application, in this process, on an empty database with a clock of its own; each answer
becomes the example of its route and status. What would differ from run to run (identifiers, hashes, secrets) is
replaced by stand-ins in the order of their appearance, so that the file changes only when the API does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI

from canton import settings
from canton.admin.openapi_walk import ISSUER, OPERATOR, STRANGER, WALK, Ask
from canton.api.app import create_app
from canton.api.hub import Hub
from canton.api.services import Services
from canton.contracts.identity import ClaimBinding, Identity
from canton.domain.errors import TokenInvalid
from canton.policy.roles import BUILTIN
from canton.store import migrate
from canton.store.database import SECOND, open_database

# 2026-11-15T12:00:00Z
NOON = 1_794_830_400 * SECOND
_VARYING = re.compile(
    r"canton_tk_[0-9a-f]{28}_[\w-]{43}|\b(?P<kind>op|bd|sa|tk|ap)_[0-9a-f]{28}\b|sha256:[0-9a-f]{64}"
    r"|(?<=\"request\":\")[0-9a-f]{16,40}"
)


class KnownPeople:
    """Takes the names of the walk's people for tokens."""

    def verify(self, token: str) -> Identity:
        bound = {"provider": ("provider-admin", None), OPERATOR: ("tenant-operator", "psi"), STRANGER: None}
        if token not in bound:
            raise TokenInvalid("the token's signature is wrong; log in again")
        role = bound[token]
        bindings = (ClaimBinding(*role),) if role else ()
        return Identity(ISSUER, token, token, token.title(), NOON + 3600 * SECOND, frozenset(), bindings)


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def document(self) -> Any:
        return json.loads(self.body) if self.body else None


@contextmanager
def application() -> Iterator[FastAPI]:
    """The real one, on a database that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="canton-openapi-") as folder:
        ticks = itertools.count(NOON, SECOND // 4)
        database = open_database(f"sqlite:///{folder}/canton.db", clock=lambda: next(ticks))
        try:
            migrate.upgrade(database)
            configured = settings.load({}, f"sqlite:///{folder}/canton.db")
            hub = Hub(database)
            yield create_app(Services(database, KnownPeople(), BUILTIN, configured, hub, lambda: NOON))
        finally:
            database.close()


async def call(app: FastAPI, ask: Ask, path: str) -> Reply:
    """One request, without a network in between."""
    plain, _, query = path.partition("?")
    headers = {"content-type": "application/json", "canton-reason": quote(ask.reason), "x-request-id": "r-1"}
    if ask.who is not None:
        headers["authorization"] = f"Bearer {ask.who}"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": ask.method,
        "scheme": "http",
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8700),
    }
    sent = iter([{"type": "http.request", "body": json.dumps(ask.body).encode() if ask.body is not None else b""}])
    reply = Reply()

    async def receive() -> Any:
        return next(sent, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")

    await app(scope, receive, send)
    return reply


async def play(app: FastAPI) -> list[tuple[str, str, Reply]]:
    """Each step of the walk, as (method, path, reply)."""
    kept: dict[str, str] = {}
    found = []
    for ask in WALK:
        path = ask.path.format(**kept)
        reply = await call(app, ask, path)
        if reply.status != ask.status:
            raise SystemExit(f"{ask.method} {path} answered {reply.status}, not {ask.status}: {reply.body.decode()}")
        if ask.keep:
            kept[ask.keep] = str(reply.document[ask.keep_field])
        found.append((ask.method.lower(), path, reply))
    return found


def route_of(spec: Mapping[str, Any], method: str, path: str) -> str:
    """The documented route that a path belongs to; one without parameters goes first, as in the application."""
    plain = path.partition("?")[0]
    for route in sorted(spec["paths"], key=lambda each: each.count("{")):
        pattern = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(route))
        if method in spec["paths"][route] and re.fullmatch(pattern, plain):
            return str(route)
    raise SystemExit(f"{method} {plain} is not documented")


def stand_ins() -> Callable[[str], str]:
    """The same stand-in for the same text, numbered by appearance within its kind."""
    known: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        text = found[0]
        if text not in known:
            number = len(known) + 1
            kind = found["kind"]
            if kind:
                known[text] = f"{kind}_019a8d{number:022x}"
            elif text.startswith("sha256:"):
                known[text] = f"sha256:{number:064x}"
            else:
                known[text] = f"canton_tk_019a8d{number:022x}_{'x' * 43}" if text.startswith("canton_") else "r-1"
        return known[text]

    return lambda text: _VARYING.sub(replace, text)


def document() -> str:
    with application() as app:
        spec: dict[str, Any] = app.openapi()
        walked = asyncio.run(play(app))
    steady = stand_ins()
    for method, path, reply in walked:
        route = route_of(spec, method, path)
        told = spec["paths"][route][method]["responses"].get(str(reply.status))
        if told is None:
            raise SystemExit(f"{method.upper()} {route} answers {reply.status}, which it does not document")
        if reply.body:
            media = reply.headers["content-type"].partition(";")[0]
            told["content"][media].setdefault("example", json.loads(steady(reply.body.decode())))
    return json.dumps(spec, indent=1, ensure_ascii=False) + "\n"


def missing_examples(spec: Mapping[str, Any]) -> list[str]:
    """The routes whose success has no example yet."""
    return [
        f"{method.upper()} {path}"
        for path, methods in spec["paths"].items()
        for method, route in methods.items()
        for status, told in route["responses"].items()
        if status.startswith("2")
        for content in told.get("content", {}).values()
        if "example" not in content and content.get("schema")
    ]


def main() -> None:
    path = Path("docs/reference/openapi.json")
    path.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
