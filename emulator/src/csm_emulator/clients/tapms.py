"""TAPMS, as services ask it that look whose nodes they give away."""

from __future__ import annotations

from urllib.parse import quote

from csm_emulator.records import Json
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import Mesh


def path_of(tenant: str) -> str:
    return f"/v1alpha3/tenants/{quote(tenant, safe='', errors='replace')}"


def ask_for(mesh: Mesh, tenant: str) -> Reply:
    return mesh.ask("tapms", "GET", path_of(tenant))


def nodes_of(document: Json) -> set[str]:
    """The xnames of all resources that a tenant has."""
    status = document.get("status") or {}
    return {xname for resource in status.get("tenantresources") or () for xname in resource.get("xnames") or ()}
