"""Nodes as HSM knows them, as files for `canton node import`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from csm_emulator.process import Emulator

# HSM's groups, and the tenants that their nodes come to; nodes of other groups stay outside of Canton.
TENANTS = {"psi": "psi", "eiger": "cscs", None: ""}
HEAD = "xname,nid,state,tenant"
# The group of the nodes that a newcomer imports at the second site; none of them is in the file above.
NEW_GROUP, NEW_HEAD, NEW_NODES = "mch", "xname,nid", 2


def nodes_csv(machine: Emulator) -> str:
    """Compute nodes of the groups above, and those that are in no group."""
    rows = [_row(node, TENANTS[group]) for node, group in _compute_nodes(machine) if group in TENANTS]
    return "\n".join([HEAD, *rows, ""])


def new_nodes_csv(machine: Emulator) -> str:
    """Two nodes that no tenant has, without a state."""
    nodes = [node for node, group in _compute_nodes(machine) if group == NEW_GROUP]
    return "\n".join([NEW_HEAD, *(f"{node['ID']},{node['NID']}" for node in nodes[:NEW_NODES]), ""])


def _compute_nodes(machine: Emulator) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Every compute node of HSM with its first group."""
    hsm = f"{machine.url}/apis/smd/hsm/v2"
    headers = {"Authorization": f"Bearer {machine.token()}"}
    memberships = machine.send("GET", f"{hsm}/memberships?type=Node", headers=headers).json()
    groups = {node["id"]: next(iter(node["groupLabels"]), None) for node in memberships}
    components = machine.send("GET", f"{hsm}/State/Components?type=Node&role=Compute", headers=headers).json()
    for node in components["Components"]:
        yield node, groups.get(node["ID"])


def _row(node: dict[str, Any], tenant: str) -> str:
    return f"{node['ID']},{node['NID']},{'assigned' if tenant else 'free'},{tenant}"
