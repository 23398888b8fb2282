"""Requests to TAPMS of services that check which nodes a tenant has."""

from __future__ import annotations

from urllib.parse import quote

from csm_emulator.records import Json
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import Mesh


def path_of(tenant: str) -> str:
    return f"/v1alpha3/tenants/{quote(tenant, safe='', errors='replace')}"


def get_tenant(mesh: Mesh, tenant: str) -> Reply:
    return mesh.ask("tapms", "GET", path_of(tenant))


def tenant_nodes(document: Json) -> set[str]:
    """The xnames in all resources of a tenant."""
    status = document.get("status") or {}
    return {xname for resource in status.get("tenantresources") or () for xname in resource.get("xnames") or ()}
