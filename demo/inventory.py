"""Nodes as HSM knows them, as a file for `canton node import`."""

from __future__ import annotations

from typing import Any

from canton.emulator.process import Emulator

# HSM's groups, and the tenants that their nodes come to; nodes of other groups stay outside of Canton.
TENANTS = {"psi": "psi", "eiger": "cscs", None: ""}
HEAD = "xname,nid,power,state,tenant"


def nodes_csv(machine: Emulator) -> str:
    """Compute nodes of the groups above, and those that are in no group."""
    hsm = f"{machine.url}/apis/smd/hsm/v2"
    headers = {"Authorization": f"Bearer {machine.token()}"}
    memberships = machine.send("GET", f"{hsm}/memberships?type=Node", headers=headers).json()
    groups = {each["id"]: next(iter(each["groupLabels"]), None) for each in memberships}
    found = machine.send("GET", f"{hsm}/State/Components?type=Node&role=Compute", headers=headers).json()
    rows = [
        _row(node, TENANTS[groups.get(node["ID"])]) for node in found["Components"] if groups.get(node["ID"]) in TENANTS
    ]
    return "\n".join([HEAD, *rows, ""])


def _row(node: dict[str, Any], tenant: str) -> str:
    power = "off" if node["State"] == "Off" else "on"
    return f"{node['ID']},{node['NID']},{power},{'assigned' if tenant else 'free'},{tenant}"
