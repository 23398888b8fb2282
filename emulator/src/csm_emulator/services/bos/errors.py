"""Error responses of BOS."""

from __future__ import annotations

from csm_emulator.dialects.connexion import problem
from csm_emulator.transport.call import Reply


def missing(kind: str, name: str, tenant: str = "") -> Reply:
    owner = f" for tenant '{tenant}'" if tenant else ""
    return problem(404, "The resource was not found", f"{kind}{owner} '{name}' does not exist")


def invalid_tenant(detail: str) -> Reply:
    return problem(400, "Invalid tenant", detail)
