"""Roles: named sets of permissions, built in or defined by a site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from canton.domain.errors import InvalidSetting
from canton.policy.permissions import PERMISSIONS, Reach, find


class RoleScope(StrEnum):
    """Where a role can be bound."""

    PROVIDER = "provider"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    scope: RoleScope
    description: str
    permissions: frozenset[str]
    builtin: bool = False


Roles = Mapping[str, Role]

_ALL = frozenset(PERMISSIONS)
_READS = frozenset(name for name, permission in PERMISSIONS.items() if not permission.change)
_OF_TENANTS = frozenset(name for name, permission in PERMISSIONS.items() if permission.reach is not Reach.PROVIDER)
_NODES = frozenset(name for name in PERMISSIONS if name.startswith("node."))
_OPERATING = frozenset(
    {"node.power", "operation.retry", "operation.undo", "operation.abandon", "operation.cancel", "approval.decide"}
)
# Not for viewers: who did what and why, and the accounts of pipelines.
_NOT_FOR_VIEWERS = frozenset({"audit.read", "service-account.read", "approval.read"})


def _builtin(name: str, scope: RoleScope, description: str, permissions: frozenset[str]) -> Role:
    return Role(name, scope, description, permissions, builtin=True)


BUILTIN: Roles = {
    role.name: role
    for role in (
        _builtin("provider-admin", RoleScope.PROVIDER, "everything, in every tenant", _ALL),
        _builtin(
            "provider-operator",
            RoleScope.PROVIDER,
            "runs the machine: nodes and operations of every tenant",
            _READS | _OPERATING | _NODES,
        ),
        _builtin("auditor", RoleScope.PROVIDER, "sees everything, changes nothing", _READS),
        _builtin("tenant-admin", RoleScope.TENANT, "everything that is the tenant's own", _OF_TENANTS),
        _builtin("tenant-operator", RoleScope.TENANT, "runs the tenant's nodes", (_READS & _OF_TENANTS) | _OPERATING),
        _builtin(
            "tenant-viewer",
            RoleScope.TENANT,
            "sees the tenant's nodes and operations",
            (_READS & _OF_TENANTS) - _NOT_FOR_VIEWERS,
        ),
    )
}


def custom(name: str, scope: str, description: str, permissions: Iterable[str]) -> Role:
    """A role from the configuration, or a refusal that says what is wrong with it."""
    if name in BUILTIN:
        raise InvalidSetting(f'the role "{name}" is built in and cannot be changed; choose another name', role=name)
    if scope not in tuple(RoleScope):
        raise InvalidSetting(f'the role "{name}" has scope "{scope}"; write provider or tenant', role=name)
    names = frozenset(find(permission).name for permission in permissions)
    forbidden = sorted(p for p in names if PERMISSIONS[p].reach is Reach.PROVIDER) if scope == RoleScope.TENANT else []
    if forbidden:
        raise InvalidSetting(
            f'the role "{name}" is for tenants and cannot hold {", ".join(forbidden)}; give it the scope provider',
            role=name,
        )
    return Role(name, RoleScope(scope), description, names)


def holders(roles: Roles, permission: str, *, at_provider: bool) -> list[str]:
    """The roles that hold a permission, in a tenant or where there is none."""
    matches = [role for role in roles.values() if permission in role.permissions]
    return [role.name for role in matches if role.scope is RoleScope.PROVIDER or not at_provider]
