"""``docs/reference/openapi.json``: what the code says, with examples that a real server gave.

``WALK`` is played against the application, in this process, on an empty database with a clock of its own; each answer
becomes the example of its route and status. What would differ from run to run (identifiers, hashes, secrets, instants)
is replaced by stand-ins in the order of their appearance, so that the file changes only when the API does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI

from canton.admin.openapi_walk import COLLEAGUE, ISSUER, OPERATOR, PROVIDER, STRANGER, WALK, WORK, WalkRequest
from canton.api.app import create_app
from canton.api.events.hub import Hub
from canton.api.middleware.bodies import BodyLimit, BodyLimits
from canton.api.middleware.rate_limits import RateLimits
from canton.api.services import Services
from canton.contracts.identity import ClaimBinding, Identity
from canton.domain.errors import TokenInvalid
from canton.domain.operation import DRIVEN
from canton.domain.timestamps import to_text
from canton.operations.engine.step_kind import register
from canton.operations.engine.worker import Worker
from canton.operations.kinds.set_power import SetPower
from canton.policy.roles import BUILTIN
from canton.settings import loading
from canton.store.database import SECOND, Database, open_database
from canton.store.inventory import open_work
from canton.store.maintenance import migrate

# 2026-11-15T12:00:00Z
NOON = 1_794_830_400 * SECOND
_VARYING = re.compile(
    r"canton_tk_[0-9a-f]{28}_[\w-]{43}|\b(?P<kind>op|bd|sa|tk|ap)_[0-9a-f]{28}\b|sha256:[0-9a-f]{64}"
    r"|(?<=\"request\":\")[0-9a-f]{16,40}|\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z"
)


class KnownPeople:
    """Takes the names of the walk's people for tokens."""

    def verify(self, token: str) -> Identity:
        admin = ("provider-admin", None)
        bound = {PROVIDER: admin, COLLEAGUE: admin, OPERATOR: ("tenant-operator", "psi"), STRANGER: None}
        if token not in bound:
            raise TokenInvalid("the token's signature is wrong; log in again")
        role = bound[token]
        bindings = (ClaimBinding(*role),) if role else ()
        return Identity(
            ISSUER, token, token, token.title(), NOON + 3600 * SECOND, frozenset(), bindings, is_person=True
        )


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
            configured = loading.load({}, f"sqlite:///{folder}/canton.db")
            two = replace(configured, policy=replace(configured.policy, two_person=("tenant.delete",)))
            rates = RateLimits(1e6, 1e6, 1e6)
            services = Services(database, KnownPeople(), BUILTIN, two, Hub(database), lambda: NOON, rates)
            yield create_app(services)
            # Else its timer would go on trying to write into a database that is gone.
            services.refusals.flush(database)
        finally:
            database.close()


async def work(database: Database) -> None:
    """Let a worker that knows no site drive what is open until it rests: everything needs attention."""
    worker = Worker(database, register(SetPower({})))
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    for _ in range(600):
        await asyncio.sleep(0.05)
        with database.read() as connection:
            driven = open_work.count_open_work(connection, 60).open_operations
        if not any(driven.get(state) for state in DRIVEN):
            break
    stop.set()
    await running


async def call(app: FastAPI, ask: WalkRequest, path: str, approval: str | None) -> Reply:
    """One request, without a network in between."""
    plain, _, query = path.partition("?")
    headers = {"content-type": "application/json", "canton-reason": quote(ask.reason)}
    if ask.who is not None:
        headers["authorization"] = f"Bearer {ask.who}"
    if approval is not None:
        headers["canton-approval"] = approval
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
    messages = iter([{"type": "http.request", "body": json.dumps(ask.body).encode() if ask.body is not None else b""}])
    reply = Reply()

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")

    await BodyLimit(app, BodyLimits(2**20))(scope, receive, send)
    return reply


async def play_walk(app: FastAPI) -> list[tuple[str, str, Reply]]:
    """Each step of the walk, as (method, path, reply)."""
    values: dict[str, str] = {}
    replies = []
    for ask in WALK:
        if ask.method == WORK:
            await work(app.state.services.database)
            continue
        path = ask.path.format(**values)
        reply = await call(app, ask, path, ask.approval and ask.approval.format(**values))
        if reply.status != ask.status:
            raise SystemExit(f"{ask.method} {path} answered {reply.status}, not {ask.status}: {reply.body.decode()}")
        if ask.save_as:
            values[ask.save_as] = str(_field(reply.document, ask.save_field))
        replies.append((ask.method.lower(), path, reply))
    return replies


def _field(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document[name]
    return document


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
    by_text: dict[str, str] = {}

    def put(match: re.Match[str]) -> str:
        if match[0] not in by_text:
            by_text[match[0]] = _stand_in(match, len(by_text) + 1)
        return by_text[match[0]]

    return lambda text: _VARYING.sub(put, text)


def _stand_in(match: re.Match[str], number: int) -> str:
    text = match[0]
    if match["kind"]:
        return f"{match['kind']}_019a8d{number:022x}"
    if text.startswith("sha256:"):
        return f"sha256:{number:064x}"
    if text.startswith("canton_"):
        return f"canton_tk_019a8d{number:022x}_{'x' * 43}"
    return to_text(NOON + number * SECOND) if text.endswith("Z") else "r-1"


def document() -> str:
    with application() as app:
        spec: dict[str, Any] = app.openapi()
        walked = asyncio.run(play_walk(app))
    steady = stand_ins()
    for method, path, reply in walked:
        route = route_of(spec, method, path)
        response = spec["paths"][route][method]["responses"].get(str(reply.status))
        if response is None:
            raise SystemExit(f"{method.upper()} {route} answers {reply.status}, which it does not document")
        if reply.body:
            media = reply.headers["content-type"].partition(";")[0]
            response["content"][media].setdefault("example", json.loads(steady(reply.body.decode())))
    return json.dumps(spec, indent=1, ensure_ascii=False) + "\n"


def missing_examples(spec: Mapping[str, Any]) -> list[str]:
    """The routes whose success has no example yet."""
    return [
        f"{method.upper()} {path}"
        for path, methods in spec["paths"].items()
        for method, route in methods.items()
        for status, response in route["responses"].items()
        if status.startswith("2")
        for media, content in response.get("content", {}).items()
        if media == "application/json" and "example" not in content
    ]
