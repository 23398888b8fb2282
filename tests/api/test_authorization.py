"""Every route and method × every role × own, foreign and absent tenant × every kind of bad token.

``ROUTES`` is written by hand, from the roles of the design: who may do it, and who may at least see what it is about.
It does not look at the policy's own tables, so that a mistake there shows here. A route without a line fails the test.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from api.conftest import Api, Reply, made_services, serving
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.operations.planners.power_nodes import NodeSnapshot, plan_power
from canton.operations.submit import Submission, dry_run, submit
from canton.store.access import approvals, bindings, service_accounts, tenants
from canton.store.database import Database
from canton.store.inventory import nodes, sites
from canton.store.operations import journal
from tokens import AUDIENCE, Mint, new_key

# A: provider-admin, O: provider-operator, U: auditor, a: tenant-admin, o: tenant-operator, v: tenant-viewer,
# s: a service account of the tenant that may read and switch nodes, x: a person without any binding.
ROLES = {
    "A": "canton-provider-admin",
    "O": "canton-provider-operator",
    "U": "canton-auditor",
    "a": "canton-tenant-admin:{tenant}",
    "o": "canton-tenant-operator:{tenant}",
    "v": "canton-tenant-viewer:{tenant}",
    "s": "",
    "x": "",
}
PROVIDERS = frozenset("AOU")
ALL = "AOUaovsx"
READERS = "AOUaov"
ACCOUNT = ("node.read", "node.power", "tenant.read", "operation.read")


@dataclass(frozen=True)
class Route:
    """Callers in ``may`` are allowed, those in ``sees`` are refused (403), and for the others it is absent (404).

    ``about`` creates the route's object in a tenant and returns the values of the path. A route without it is about
    no object of a tenant: then every caller who may not is refused with 403.
    """

    may: str
    sees: str = ""
    about: Callable[[World, str], Mapping[str, str]] | None = None
    body: Callable[[World, str], Any] | None = None
    public: bool = False
    query: str = ""
    held_first: bool = False
    """A caller who may do it nowhere is told so before its body is looked at, whatever that names."""


class World:
    """A server whose objects are created anew for each case, since a case may change or delete its object."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.numbers = itertools.count()

    @property
    def database(self) -> Database:
        return self.api.services.database

    def fresh(self) -> int:
        return next(self.numbers)

    def tenant(self) -> str:
        name = f"tenant-{self.fresh()}"
        with self.database.write() as connection:
            tenants.create(connection, name, "")
        return name

    def node(self, tenant: str) -> str:
        n = self.fresh()
        name = f"x{n // 4096 % 9000 + 1000}c{n // 512 % 8}s{n // 8 % 64}b{n // 4 % 2}n{n % 4}"
        with self.database.write() as connection:
            nodes.add(connection, [Node(name, None, NodeState.ASSIGNED, tenant, 1)], site="alps")
        return name

    def plan(self, tenant: str) -> Any:
        with self.database.read() as connection:
            node_rows = nodes.find(connection, [self.node(tenant)])
        return plan_power(NodeSnapshot(node_rows, {}, "power@alps"), "on", tenant)

    def operation(self, tenant: str, state: str | None = None) -> dict[str, str]:
        operation = submit(self.database, self.plan(tenant), Submission("test:root", "", None)).operation
        if state is not None:
            with self.database.write() as connection:
                journal.set_state(connection, operation, state)  # type: ignore[arg-type]
        return {"operation_id": operation}


def about_tenant(_world: World, tenant: str) -> Mapping[str, str]:
    return {"name": tenant, "tenant": tenant}


def about_node(world: World, tenant: str) -> Mapping[str, str]:
    return {"xname": world.node(tenant)}


def about_operation(world: World, tenant: str) -> Mapping[str, str]:
    return world.operation(tenant)


def about_trouble(world: World, tenant: str) -> Mapping[str, str]:
    return world.operation(tenant, "needs_attention")


def about_plan(world: World, tenant: str) -> Mapping[str, str]:
    return {"digest": dry_run(world.database, world.plan(tenant)).digest}


def about_binding(world: World, tenant: str) -> Mapping[str, str]:
    new_grant = bindings.Grant(f"test:user-{world.fresh()}", "tenant-viewer", tenant, None)
    with world.database.write() as connection:
        return {"binding_id": bindings.grant(connection, new_grant, "test:root", "")[0]["id"]}


def about_account(world: World, tenant: str) -> Mapping[str, str]:
    new_account = service_accounts.NewAccount(f"ci-{world.fresh()}", tenant, ("node.read",), "")
    with world.database.write() as connection:
        return {"account_id": service_accounts.create(connection, new_account, "test:root")["id"]}


def about_token(world: World, tenant: str) -> Mapping[str, str]:
    account = about_account(world, tenant)["account_id"]
    with world.database.write() as connection:
        issued = service_accounts.issue(connection, account, ("node.read",), 60, "test:root")
    return {"account_id": account, "token_id": issued.id}


def about_approval(world: World, tenant: str) -> Mapping[str, str]:
    request = approvals.ApprovalRequest("node.power", tenant, "POST", "/v1/nodes/power", {}, f"{world.fresh()}", "")
    with world.database.write() as connection:
        return {"approval_id": approvals.ask(connection, "test:other", "test:id-of-other", request, 60)}


def about_site(world: World, _tenant: str) -> Mapping[str, str]:
    name = f"site-{world.fresh()}"
    with world.database.write() as connection:
        sites.create(connection, name, "")
    return {"name": name, "site": name}


def nodes_of(world: World, tenant: str) -> dict[str, Any]:
    return {"nodes": world.node(tenant)}


def power(world: World, tenant: str) -> Any:
    return {"nodes": world.node(tenant), "to": "on"}


def grant(world: World, tenant: str) -> Any:
    return {"subject": f"test:user-{world.fresh()}", "role": "tenant-viewer", "tenant": tenant}


def account(world: World, tenant: str) -> Any:
    return {"name": f"ci-{world.fresh()}", "tenant": tenant, "permissions": ["node.read"]}


DESCRIPTION: Callable[[World, str], Any] = lambda _world, _tenant: {"description": "new"}  # noqa: E731

ROUTES: Mapping[tuple[str, str], Route] = {
    ("GET", "/v1/version"): Route(ALL, public=True),
    ("GET", "/v1/whoami"): Route(ALL),
    ("GET", "/v1/can-i"): Route(ALL, query="?permission=tenant.read"),
    ("GET", "/v1/roles"): Route(ALL),
    ("GET", "/v1/sites"): Route(ALL),
    ("POST", "/v1/sites"): Route("A", body=lambda world, _: {"name": f"site-{world.fresh()}"}),
    ("GET", "/v1/sites/{name}"): Route(READERS, about=about_site),
    ("PATCH", "/v1/sites/{name}"): Route("A", READERS, about_site, DESCRIPTION),
    ("DELETE", "/v1/sites/{name}"): Route("A", READERS, about_site),
    ("GET", "/v1/tenants"): Route(ALL),
    ("POST", "/v1/tenants"): Route("A", body=lambda world, _: {"name": f"tenant-{world.fresh()}"}),
    ("GET", "/v1/tenants/{name}"): Route(READERS + "s", about=about_tenant),
    ("PATCH", "/v1/tenants/{name}"): Route("Aa", READERS + "s", about_tenant, DESCRIPTION),
    ("DELETE", "/v1/tenants/{name}"): Route("A", READERS + "s", about_tenant),
    ("POST", "/v1/tenants/{name}/suspend"): Route("A", READERS + "s", about_tenant),
    ("POST", "/v1/tenants/{name}/resume"): Route("A", READERS + "s", about_tenant),
    ("GET", "/v1/tenants/{name}/members"): Route(READERS, about=about_tenant),
    ("GET", "/v1/tenants/{name}/quota"): Route(READERS, about=about_tenant),
    ("PUT", "/v1/tenants/{name}/quota"): Route(
        "A", READERS + "s", about_tenant, lambda *_: {"nodes": 5, "open_operations": None, "service_accounts": 1}
    ),
    ("GET", "/v1/bindings"): Route(ALL),
    ("POST", "/v1/bindings"): Route("Aa", READERS + "s", lambda *_: {}, grant),
    ("GET", "/v1/bindings/{binding_id}"): Route(READERS, about=about_binding),
    ("DELETE", "/v1/bindings/{binding_id}"): Route("Aa", READERS, about_binding),
    ("GET", "/v1/nodes"): Route(ALL),
    ("GET", "/v1/nodes/{xname}"): Route(READERS + "s", about=about_node),
    ("POST", "/v1/nodes/import"): Route("AO", body=lambda *_: {"site": "alps", "nodes": []}),
    ("POST", "/v1/nodes/power"): Route("AOaos", READERS + "s", lambda *_: {}, power, held_first=True),
    ("POST", "/v1/nodes/enroll"): Route(
        "AO",
        READERS + "s",
        lambda *_: {},
        lambda world, tenant: nodes_of(world, tenant) | {"sanitised_by_hand": True},
        held_first=True,
    ),
    ("POST", "/v1/nodes/assign"): Route(
        "AO",
        READERS + "s",
        lambda *_: {},
        lambda world, tenant: nodes_of(world, tenant) | {"tenant": tenant},
        held_first=True,
    ),
    ("POST", "/v1/nodes/release"): Route("AO", READERS + "s", lambda *_: {}, nodes_of, held_first=True),
    ("POST", "/v1/nodes/maintenance"): Route("AO", READERS + "s", lambda *_: {}, nodes_of, held_first=True),
    ("POST", "/v1/nodes/retire"): Route("AO", READERS + "s", lambda *_: {}, nodes_of, held_first=True),
    ("POST", "/v1/nodes/delete"): Route("AO", READERS + "s", lambda *_: {}, nodes_of, held_first=True),
    ("GET", "/v1/operations"): Route(ALL),
    ("GET", "/v1/operations/{operation_id}"): Route(READERS + "s", about=about_operation),
    ("GET", "/v1/operations/{operation_id}/steps"): Route(READERS + "s", about=about_operation),
    ("POST", "/v1/operations/{operation_id}/cancel"): Route("AOao", READERS + "s", about_operation),
    ("POST", "/v1/operations/{operation_id}/retry"): Route("AOao", READERS + "s", about_trouble),
    ("POST", "/v1/operations/{operation_id}/undo"): Route("AOao", READERS + "s", about_trouble),
    ("POST", "/v1/operations/{operation_id}/abandon"): Route("AOao", READERS + "s", about_trouble),
    ("GET", "/v1/plans"): Route(ALL),
    ("GET", "/v1/plans/{digest}"): Route(READERS, about=about_plan),
    ("GET", "/v1/approvals"): Route(ALL),
    ("GET", "/v1/approvals/{approval_id}"): Route("AOUao", about=about_approval),
    ("POST", "/v1/approvals/{approval_id}/approve"): Route("AOao", "AOUao", about_approval),
    ("POST", "/v1/approvals/{approval_id}/refuse"): Route("AOao", "AOUao", about_approval),
    ("GET", "/v1/audit"): Route(ALL),
    ("GET", "/v1/events"): Route(ALL),
    ("GET", "/v1/service-accounts"): Route(ALL),
    ("POST", "/v1/service-accounts"): Route("Aa", READERS + "s", lambda *_: {}, account),
    ("GET", "/v1/service-accounts/{account_id}"): Route("AOUao", about=about_account),
    ("DELETE", "/v1/service-accounts/{account_id}"): Route("Aa", "AOUao", about_account),
    ("GET", "/v1/service-accounts/{account_id}/tokens"): Route("AOUao", about=about_account),
    ("POST", "/v1/service-accounts/{account_id}/tokens"): Route("Aa", "AOUao", about_account, lambda *_: {}),
    ("DELETE", "/v1/service-accounts/{account_id}/tokens/{token_id}"): Route("Aa", "AOUao", about_token),
    ("POST", "/v1/service-accounts/{account_id}/rotate"): Route("Aa", "AOUao", about_account, lambda *_: {}),
}
LABELS = [f"{method} {path}" for method, path in ROUTES]


@pytest.fixture(scope="module")
def world(templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory, tokens: Mint) -> Iterator[World]:
    """One server for all cases; SQLite, since nothing here depends on the database."""
    from canton.store.database import open_database  # noqa: PLC0415
    from databases import databases  # noqa: PLC0415

    with databases("sqlite", tmp_path_factory.mktemp("authorization")).copy(templates["sqlite"]) as url:
        database = open_database(url)
        with database.write() as connection:
            sites.create(connection, "alps", "")
        with serving(made_services(database, tokens), tokens) as api:
            yield World(api)
        database.close()


def caller(world: World, role: str, tenant: str) -> Api:
    if role == "s":
        new_account = service_accounts.NewAccount(f"ci-{world.fresh()}", tenant, ACCOUNT, "")
        with world.database.write() as connection:
            account = service_accounts.create(connection, new_account, "test:root")
            issued = service_accounts.issue(connection, account["id"], ACCOUNT, 60, "test:root")
        return Api(world.api.url, world.api.mint, world.api.services, issued.text)
    claimed = [ROLES[role].format(tenant=tenant)] if ROLES[role] else []
    return world.api.as_(f"{role}-{world.fresh()}", *claimed)


def send(world: World, api: Api, method: str, path: str, tenant: str) -> Reply:
    route = ROUTES[method, path]
    values = route.about(world, tenant) if route.about else {}
    body = route.body(world, tenant) if route.body else None
    return api.call(method, path.format(**values) + route.query, body, reason="a test")


def test_every_route_has_a_line_and_every_line_a_route(world: World) -> None:
    spec = world.api.get("/openapi.json").json
    documented = {(method.upper(), path) for path, methods in spec["paths"].items() for method in methods}
    assert documented == ROUTES.keys()


@pytest.mark.parametrize(("method", "path"), list(ROUTES), ids=LABELS)
def test_own(world: World, method: str, path: str, record_property: Callable[[str, object], None]) -> None:
    route = ROUTES[method, path]
    for role in ROLES:
        tenant = world.tenant()
        reply = send(world, caller(world, role, tenant), method, path, tenant)
        if role in route.may:
            assert reply.status < 400 or reply.status in (409, 412), (role, reply.text)
        elif role in route.sees or route.about is None or route.held_first:
            assert (reply.status, reply.code) == (403, "forbidden"), (role, reply.text)
        else:
            assert reply.status == 404, (role, reply.text)
    record_property("route × role × token cases as expected", len(ROLES))


@pytest.mark.parametrize(("method", "path"), list(ROUTES), ids=LABELS)
def test_foreign_and_absent(
    world: World, method: str, path: str, record_property: Callable[[str, object], None]
) -> None:
    """A tenant's role reaches its own tenant only, and cannot tell a foreign object from an absent one."""
    route = ROUTES[method, path]
    if route.about is None or route.about is about_site:
        return
    for role in ROLES:
        api = caller(world, role, world.tenant())
        foreign = send(world, api, method, path, world.tenant())
        if role in PROVIDERS:
            expected = role in route.may
            assert (foreign.status < 400 or foreign.status in (409, 412)) == expected, (role, foreign.text)
        else:
            told_so = route.held_first and role not in route.may
            assert foreign.status == (403 if told_so else 404), (role, foreign.text)
            absent = call_absent(world, api, method, path)
            assert shape(foreign) == shape(absent), (role, foreign.text, absent.text)
    record_property("route × role × token cases as expected", 2 * len(ROLES))


ABSENT = {
    "name": "tenant-99999",
    "xname": "x9999c7s63b1n3",
    "digest": "sha256:" + "0" * 64,
    "operation_id": "op_" + "0" * 28,
    "binding_id": "bd_" + "0" * 28,
    "account_id": "sa_" + "0" * 28,
    "token_id": "tk_" + "0" * 28,
    "approval_id": "ap_" + "0" * 28,
}


def call_absent(world: World, api: Api, method: str, path: str) -> Reply:
    route = ROUTES[method, path]
    body = route.body(world, world.tenant()) if route.body else None
    if body:
        body |= {
            key: value
            for key, value in {
                "tenant": "tenant-99999",
                **({"nodes": ABSENT["xname"]} if "/nodes/" in path else {}),
            }.items()
            if key in body
        }
    return api.call(method, path.format(**ABSENT) + route.query, body, reason="a test")


def shape(reply: Reply) -> tuple[int, str, str, list[str], list[str]]:
    """All parts of an answer that a caller could compare, without the names that the caller sent."""
    problem = reply.json
    words = [word for word in problem["detail"].split() if not any(mark in word for mark in "_0123456789")]
    headers = sorted(set(reply.headers) - {"content-length", "content-encoding", "vary"})
    return reply.status, problem["code"], " ".join(words), sorted(problem["details"]), headers


def bad_tokens(mint: Mint) -> Mapping[str, tuple[str | None, str]]:
    """Bad tokens, each with the code of its refusal; each claims to be the provider's."""
    admin = ["canton-provider-admin"]
    past = int(time.time()) - 3600
    good = mint.token("root", admin)
    return {
        "none": (None, "not-authenticated"),
        "expired": (mint.token("root", admin, iat=past - 60, exp=past), "token-expired"),
        "wrong audience": (mint.token("root", admin, aud=f"not-{AUDIENCE}"), "token-invalid"),
        "bad signature": (mint.token("root", admin, key=new_key()), "token-invalid"),
        "of a service account that is not there": (f"canton_tk_{'0' * 28}_{'A' * 43}", "token-invalid"),
        "cut": (good[:-10], "token-invalid"),
    }


@pytest.mark.parametrize(("method", "path"), list(ROUTES), ids=LABELS)
def test_bad_tokens(world: World, method: str, path: str, record_property: Callable[[str, object], None]) -> None:
    route = ROUTES[method, path]
    tokens = bad_tokens(world.api.mint)
    for name, (token, code) in tokens.items():
        api = Api(world.api.url, world.api.mint, world.api.services, token)
        reply = (
            send(world, api, method, path, "tenant-99999") if not route.about else call_absent(world, api, method, path)
        )
        if route.public:
            assert reply.status == 200
        else:
            assert (reply.status, reply.code) == (401, code), (name, reply.text)
            assert reply.headers["www-authenticate"].startswith("Bearer")
    record_property("route × role × token cases as expected", len(tokens))
