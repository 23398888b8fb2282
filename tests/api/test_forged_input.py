"""Forged input: cursors, approvals, ids of requests, and nodesets of callers without a role."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from api.conftest import Api, serving
from canton.api.mutations import node_operations as node_orders
from canton.api.services import Services
from canton.domain.json_types import digest
from canton.store import audit
from canton.store.access import approvals, bindings, service_accounts, tenants
from canton.store.inventory import nodes, sites
from canton.store.operations import lists as operation_lists
from canton.store.operations import plans
from tokens import Mint

LISTS = {
    "/v1/nodes": nodes.SORTS,
    "/v1/operations": operation_lists.SORTS,
    "/v1/operations/{operation}/steps": operation_lists.STEP_SORTS,
    "/v1/sites": sites.SORTS,
    "/v1/tenants": tenants.SORTS,
    "/v1/audit": audit.SORTS,
    "/v1/plans": plans.SORTS,
    "/v1/approvals": approvals.SORTS,
    "/v1/bindings": bindings.SORTS,
    "/v1/roles": ("name",),
    "/v1/service-accounts": service_accounts.SORTS,
    "/v1/service-accounts/{account}/tokens": service_accounts.TOKEN_SORTS,
    "/v1/tenants/psi/members": ("subject",),
}
NUMBERS = (0, -1, 2**31 - 1, 2**31, 2**40, -(2**40), 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**200)
PARTS: tuple[list[Any], ...] = (
    [],
    *([number] for number in NUMBERS),
    *([number, "x"] for number in NUMBERS),
    *([number, number] for number in NUMBERS),
    *([one] for one in ("x", "\x00", "x" * 500, True, None, 1.5, [1], {"a": 1})),
    ["x", "x", "x"],
    [1, "x", 1],
    ["x", True],
)


def forged(path: str, sort: str, position: list[Any]) -> str:
    this = digest([path, sort, [["sort", sort]]])[7:23]
    return base64.urlsafe_b64encode(json.dumps([this, *position]).encode()).decode().rstrip("=")


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    policy = replace(services.settings.policy, two_person=("tenant.resume",))
    with serving(replace(services, settings=replace(services.settings, policy=policy)), tokens) as running:
        yield running


def furnish(admin: Api) -> dict[str, str]:
    """Create an object for every list; returns the ids of an operation and of a service account."""
    admin.post("/v1/sites", {"name": "alps"})
    admin.post("/v1/tenants", {"name": "psi"})
    admin.post("/v1/nodes/import", {"site": "alps", "nodes": [{"xname": "x1000c0s0b0n0", "nid": 1}]})
    operation = admin.post("/v1/nodes/power", {"nodes": "x1000c0s0b0n0", "to": "on"}).json["id"]
    admin.post("/v1/bindings", {"subject": "test:ann", "role": "tenant-viewer", "tenant": "psi"})
    new_account = {"name": "ci", "tenant": "psi", "permissions": ["node.read"]}
    account = admin.post("/v1/service-accounts", new_account).json["id"]
    admin.post(f"/v1/service-accounts/{account}/tokens")
    admin.post("/v1/tenants/psi/resume")
    return {"operation": str(operation), "account": str(account)}


def test_a_forged_cursor_of_a_list_is_refused_or_finds_nothing(admin: Api) -> None:
    ids = furnish(admin)
    outcomes = set()
    for pattern, sorts in LISTS.items():
        path = pattern.format(**ids)
        assert admin.get(path).json["items"], path
        for sort in (*sorts, *(f"-{name}" for name in sorts)):
            for position in PARTS:
                reply = admin.get(f"{path}?sort={sort}&after={forged(path, sort, position)}")
                assert reply.status in (200, 400), (path, sort, position, reply.text)
                outcomes.add((reply.status, reply.code))
    assert outcomes == {(200, None), (400, "invalid-cursor")}


def test_every_list_that_has_pages_is_here(api: Api) -> None:
    paths = json.loads(api.get("/openapi.json").text)["paths"]
    lists = {
        path
        for path, methods in paths.items()
        if {"sort", "after"} <= {parameter["name"] for parameter in methods.get("get", {}).get("parameters", ())}
    }
    covered = {pattern.replace("psi", "{name}") for pattern in LISTS}
    same = {"{operation}": "{operation_id}", "{account}": "{account_id}"}
    for mine, theirs in same.items():
        covered = {path.replace(mine, theirs) for path in covered}
    assert lists == covered


@pytest.mark.parametrize("number", ["1", "999999999999999999", "9223372036854775808", "0", "-1", "1.5", "9" * 30])
@pytest.mark.parametrize("stream", ["", "psi", "nowhere"])
def test_a_forged_place_among_events_is_refused_or_finds_nothing(admin: Api, stream: str, number: str) -> None:
    furnish(admin)
    mark = admin.get("/v1/events?limit=1").json["next"].split("~")[1]
    assert admin.get(f"/v1/events?after=e1~{mark}~{stream}.{number}").status in (200, 400)


def test_an_approval_is_recorded_only_where_it_was_used(admin: Api) -> None:
    made_up = f"ap_{'0' * 28}"
    assert admin.post("/v1/sites", {"name": "alps"}, Canton_Approval=made_up).status == 201
    assert admin.post("/v1/sites", {"name": "alps"}, Canton_Approval=made_up).status == 409
    assert admin.post("/v1/sites", {"name": "bern"}, Canton_Approval=f"{made_up}00").status == 400
    details = [record["details"] for record in admin.get("/v1/audit?action=site.create").json["items"]]
    assert len(details) == 2
    assert made_up not in json.dumps(details)


def test_the_audit_has_the_servers_id_of_a_request_and_the_clients_apart(admin: Api) -> None:
    for site, name in (("alps", "mine"), ("bern", "mine"), ("chur", "no id: ;")):
        admin.post("/v1/sites", {"name": site}, X_Request_Id=name)
    details = [record["details"] for record in admin.get("/v1/audit?action=site.create").json["items"]]
    assert len({record["request"] for record in details}) == 3
    assert [record.get("client_request") for record in details] == [None, "mine", "mine"]


@pytest.mark.parametrize("nodeset", ["x1000c0s0b0n0", "nid[1-10000]", "nid[1-99999999]", "["])
def test_a_nodeset_is_not_unfolded_for_a_caller_who_may_do_nothing(
    api: Api, admin: Api, monkeypatch: pytest.MonkeyPatch, nodeset: str
) -> None:
    def unfold(*_: object, **__: object) -> None:
        raise AssertionError("it was unfolded")

    monkeypatch.setattr(node_orders, "parse_counted", unfold)
    eve = api.as_("eve")
    assert eve.post("/v1/nodes/power", {"nodes": nodeset, "to": "on"}).code == "forbidden"
    assert eve.get(f"/v1/nodes?nodeset={nodeset}").json == {"items": [], "next": None}
    [record] = admin.get("/v1/audit?action=node.power").json["items"]
    assert (record["actor"], record["details"]["outcome"]) == ("test:eve", "refused")
