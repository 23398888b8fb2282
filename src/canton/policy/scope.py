"""The rules of ``decide`` as a filter for lists: the tenants whose objects a principal may see."""

from __future__ import annotations

from dataclasses import dataclass

from canton.policy.bindings import Principal
from canton.policy.permissions import PERMISSIONS, Reach


@dataclass(frozen=True, slots=True)
class Scope:
    """All objects, or those of these tenants; an empty set of tenants means no objects."""

    everything: bool
    tenants: frozenset[str] = frozenset()

    def admits(self, tenant: str | None) -> bool:
        return self.everything or tenant in self.tenants

    @property
    def is_empty(self) -> bool:
        return not self.everything and not self.tenants


def scope(principal: Principal, permission: str, now: int) -> Scope:
    """The scope of a permission to read, which a suspended tenant's members keep."""
    granting = [it for it in principal.bindings if it.holds(now) and permission in it.permissions]
    everyone = PERMISSIONS[permission].reach is Reach.EVERYONE
    if any(everyone or it.tenant is None for it in granting):
        return Scope(everything=True)
    return Scope(everything=False, tenants=frozenset(it.tenant for it in granting if it.tenant is not None))
