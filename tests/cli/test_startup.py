"""A command imports only what it needs. ``make bench`` measures the CPU time of a start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from client import samples
from client.scripted_server import Reply, Script, items

NEVER = (
    "sqlalchemy",
    "pydantic",
    "fastapi",
    "asyncio",
    "yaml",
    "canton.store",
    "canton.operations",
    "canton.api",
    "canton.admin",
)
RARELY = (
    "_ssl",
    "csv",
    "tomllib",
    "difflib",
    "hashlib",
    "datetime.",
    "canton.cli.session.follow",
    "canton.client.oidc",
    "canton.client.events",
    "canton.client.objects",
)


def loaded(*arguments: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "canton", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {line.split("|")[-1].strip() for line in result.stderr.splitlines()}


def test_a_list_of_nodes_loads_little(script: Script) -> None:
    script.on("GET /v1/nodes", items(*(samples.node(f"x1000c0s{n}b0n0") for n in range(8))))
    names = loaded("node", "list")
    assert "canton.client.nodes" in names
    assert {name for name in names if name.startswith((*NEVER, *RARELY))} == set()


@pytest.mark.parametrize("arguments", [("whoami",), ("tenant", "show", "psi"), ("operation", "show", "op_1")])
def test_no_command_loads_the_server(script: Script, arguments: tuple[str, ...]) -> None:
    script.on("GET /v1/whoami", Reply(body=samples.whoami()))
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
    script.on("GET /v1/operations/op_1", Reply(body=samples.operation()))
    assert {name for name in loaded(*arguments) if name.startswith(NEVER)} == set()
