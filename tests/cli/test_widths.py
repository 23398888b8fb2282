"""Every table that a list shows by default fits on a terminal of 100 columns, with values as a real site has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items
from client.test_samples import check_sample

AT = samples.AT
WHO = "cscs:michele.brambilla"
TENANT = "psi-sls-mx"
REASON = "ticket HPCOPS-12345: the memory of these nodes shows correctable errors since the last maintenance"
NODES = "x[1000-1003]c[0-7]s[0-7]b[0-1]n[0-1],x1100c0s[0-3]b0n0,x1100c1s5b1n1"


def identifier(kind: str) -> str:
    return f"{kind}_019a8d00000000000000000000{'0' * (28 - 26)}"


STEPS = {"total": 1024, "done": 1000, "failed": 24, "under_way": 0, "pending": 0}
ERROR = samples.error(f"x1000c0s0b0n0 does not answer: {REASON}", status=503)
LISTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "operation list": (
        "/v1/operations",
        "Operation",
        samples.operation(
            "needs_attention",
            id=identifier("op"),
            summary=f"power off {NODES}",
            tenant=TENANT,
            actor=WHO,
            reason=REASON,
            plan=f"sha256:{'0' * 64}",
            attention=samples.attention(reason="24 of 1024 steps failed", choices=["retry"]),
            worker="worker-4711-15c6fbe7",
            nodes=NODES,
            steps=STEPS,
        ),
    ),
    "operation show op_1 --steps": (
        "/v1/operations/op_1/steps",
        "Step",
        samples.step(1024, "x1000c7s7b1n1", "failed", tries=12, acts=3, evidence={"power": "on"}, error=ERROR),
    ),
    "plan list": (
        "/v1/plans",
        "ListedPlan",
        samples.listed_plan(
            digest=f"sha256:{'0' * 64}", summary=f"power off {NODES}", tenant=TENANT, nodes=NODES, created_at=AT
        ),
    ),
    "approval list": (
        "/v1/approvals",
        "Approval",
        samples.approval(
            id=identifier("ap"),
            permission="service-account.delete",
            tenant=TENANT,
            path=f"/v1/tenants/{TENANT}",
            requested_by=WHO,
            requested_identity=WHO,
            reason=REASON,
        ),
    ),
    "event list": (
        "/v1/events",
        "Event",
        samples.event(
            "operation.needs_attention", identifier("op"), tenant=TENANT, body={"actor": WHO, "reason": REASON}
        ),
    ),
    "audit list": (
        "/v1/audit",
        "Record",
        samples.record(
            seq=1234567,
            actor=WHO,
            action="operation.needs_attention",
            subject=identifier("op"),
            tenant=TENANT,
            reason=REASON,
            details={"outcome": "unchanged", "permission": "node.power"},
            hash=f"sha256:{'0' * 64}",
        ),
    ),
    "node list": (
        "/v1/nodes",
        "Node",
        samples.node(site="alps-lugano", state="quarantined", tenant=TENANT, separation="unproven", power="unknown"),
    ),
    "member list": (
        "/v1/bindings",
        "Binding",
        samples.binding(
            identifier("bd"),
            subject=WHO,
            identity=WHO,
            role="tenant-operator",
            tenant=TENANT,
            granted_by=WHO,
            reason=REASON,
            until=AT,
        ),
    ),
    "service-account list": (
        "/v1/service-accounts",
        "ServiceAccount",
        samples.account(
            id=identifier("sa"),
            name="gitlab-runner",
            tenant=TENANT,
            permissions=["node.power", "node.read", "operation.read", "operation.retry", "plan.read"],
            description="the pipelines of the beamline group, rotated every month",
            created_by=WHO,
        ),
    ),
    "tenant list": (
        "/v1/tenants",
        "Tenant",
        samples.tenant(
            TENANT,
            description="Macromolecular crystallography, Swiss Light Source, Paul Scherrer Institute, Villigen",
            state="suspended",
            nodes=1024,
        ),
    ),
    "site list": ("/v1/sites", "Site", samples.site("alps-lugano", description=REASON)),
    "role list": ("/v1/roles", "Role", samples.role(name="beamline-night-operator", description=REASON, builtin=False)),
}


@pytest.mark.parametrize("line", LISTS)
def test_a_row_is_an_object_of_the_api(line: str) -> None:
    _, name, item = LISTS[line]
    check_sample(name, item)


@pytest.mark.parametrize("line", LISTS)
def test_a_default_table_fits(canton: Run, script: Script, line: str) -> None:
    path, _, item = LISTS[line]
    script.on(f"GET {path}", items(item))
    result = canton(*line.split())
    assert result.status == 0, result.err
    assert max(len(row) for row in result.out.splitlines()) <= 100, result.out


def test_a_list_of_quotas_fits(canton: Run, script: Script) -> None:
    used = {"nodes": 1024, "open_operations": 12, "service_accounts": 8}
    quota = samples.quota(tenant=TENANT, nodes=2048, open_operations=64, used=used)
    script.on("GET /v1/tenants", items({**LISTS["tenant list"][2]}))
    script.on(f"GET /v1/tenants/{TENANT}/quota", Reply(body=quota))
    result = canton("quota", "list")
    head, row = result.out.splitlines()
    assert row.split() == [TENANT, "2048", "1024", "64", "8"]
    assert len(head) <= 100


def test_every_default_list_is_here() -> None:
    """Every list in the reference has a test here, so that a new list is tested too."""
    reference = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    every = {line.removeprefix("## `canton ").rstrip("`") for line in reference.splitlines() if line.startswith("## `")}
    lists = {name for name in every if name.endswith(" list")}
    elsewhere = {"quota list", "context list", "service-account token list"}
    assert {name for name in lists if name not in LISTS} <= elsewhere


def test_what_is_cut_is_whole_in_other_formats(canton: Run, script: Script) -> None:
    path, _, item = LISTS["operation list"]
    script.on(f"GET {path}", items(item))
    assert "…" in canton("operation", "list").out
    for options in (["-o", "wide"], ["-o", "csv"], ["-c", "id,summary"]):
        assert f"power off {NODES}" in canton("operation", "list", *options).out
    assert json.loads(canton("operation", "list", "-o", "json").out)["items"] == [item]


def test_who_and_why_is_a_dash_where_the_server_withholds_it(canton: Run, script: Script) -> None:
    script.on("GET /v1/operations", items(samples.operation(actor=None, reason=None)))
    script.on("GET /v1/bindings", items(samples.binding(granted_by=None, reason=None)))
    assert canton("operation", "list", "-c", "actor,reason", "--no-headers").out.split() == ["-", "-"]
    assert canton("member", "list", "-c", "granted-by,reason", "--no-headers").out.split() == ["-", "-"]


def test_failures_are_sentences(canton: Run, script: Script) -> None:
    script.on("GET /v1/operations/op_1/steps", items(LISTS["operation show op_1 --steps"][2]))
    script.on("GET /v1/operations/op_1", Reply(body={**LISTS["operation list"][2], "id": "op_1"}))
    result = canton("operation", "wait", "op_1")
    assert result.status == 1
    assert f"  x1000c7s7b1n1: {ERROR['message']}\n" in result.err
    assert "  24 of 1024 steps failed\n" in result.err
    assert "code=" not in result.err + canton("operation", "show", "op_1", "--steps", "-o", "wide").out
    assert "choices=" not in result.err + canton("operation", "show", "op_1").out


def test_the_audit_shows_how_it_ended(canton: Run, script: Script) -> None:
    script.on("GET /v1/audit", items(LISTS["audit list"][2]))
    head, row = canton("audit", "list").out.splitlines()
    assert row.split()[head.split().index("OUTCOME") + 1] == "unchanged"
