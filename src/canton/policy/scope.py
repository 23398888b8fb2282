"""The same rules as a filter: whose objects a principal may see in a list."""

from __future__ import annotations

from dataclasses import dataclass

from canton.policy.bindings import Principal
from canton.policy.permissions import PERMISSIONS, Reach


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything, or what belongs to these tenants; no tenants is nothing, never no filter."""

    everything: bool
    tenants: frozenset[str] = frozenset()

    def admits(self, tenant: str | None) -> bool:
        return self.everything or tenant in self.tenants

    @property
    def is_empty(self) -> bool:
        return not self.everything and not self.tenants


def scope(principal: Principal, permission: str, now: int) -> Scope:
    """For a permission to read; a suspended tenant's members go on seeing it."""
    granting = [each for each in principal.bindings if each.holds(now) and permission in each.permissions]
    everyone = PERMISSIONS[permission].reach is Reach.EVERYONE
    if any(everyone or each.tenant is None for each in granting):
        return Scope(everything=True)
    return Scope(everything=False, tenants=frozenset(each.tenant for each in granting if each.tenant is not None))
