"""The table of permissions: everything that a caller can be allowed to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from canton.domain.errors import InvalidRequest


class Reach(StrEnum):
    """The objects that a permission is about."""

    TENANT = "tenant"
    """A tenant and its own objects: a tenant's role can hold it."""
    PROVIDER = "provider"
    """The machine, or the provider's side of a tenant: only a provider's role can hold it."""
    EVERYONE = "everyone"
    """Objects of no tenant that are no secret: a binding in any tenant is enough."""


@dataclass(frozen=True, slots=True)
class Permission:
    name: str
    reach: Reach
    meaning: str
    change: bool = False
    needs_reason: bool = False
    """The request must have a reason; for other changes it is optional."""


def _read(name: str, meaning: str, reach: Reach = Reach.TENANT) -> Permission:
    return Permission(name, reach, meaning)


def _change(name: str, meaning: str, reach: Reach = Reach.TENANT, *, reason: bool = False) -> Permission:
    return Permission(name, reach, meaning, change=True, needs_reason=reason)


_TABLE = (
    _read("site.read", "list and show sites", Reach.EVERYONE),
    _change("site.create", "add a site", Reach.PROVIDER),
    _change("site.update", "change a site's description", Reach.PROVIDER),
    _change("site.delete", "remove a site that has no nodes", Reach.PROVIDER, reason=True),
    _read("role.read", "list roles and what they hold", Reach.EVERYONE),
    _read("tenant.read", "list and show tenants"),
    _change("tenant.create", "add a tenant", Reach.PROVIDER),
    _change("tenant.update", "change a tenant's description"),
    _change("tenant.suspend", "stop every change by a tenant's members", Reach.PROVIDER, reason=True),
    _change("tenant.resume", "let a suspended tenant's members change things again", Reach.PROVIDER),
    _change("tenant.delete", "remove a tenant that has nothing left", Reach.PROVIDER, reason=True),
    _read("member.read", "list who is bound to which role"),
    _change("member.grant", "bind a person to a role whose permissions the caller holds"),
    _change("member.revoke", "take a binding away", reason=True),
    _read("quota.read", "see a tenant's quota and what it uses"),
    _change("quota.set", "set a tenant's quota", Reach.PROVIDER),
    _read("node.read", "list and show nodes"),
    _change("node.import", "add nodes, with their inventory", Reach.PROVIDER),
    _change("node.power", "switch nodes on and off"),
    _change("node.enroll", "make nodes free; the caller vouches that they are sanitised", Reach.PROVIDER, reason=True),
    _change("node.assign", "give free nodes to a tenant", Reach.PROVIDER, reason=True),
    _change("node.release", "take nodes from a tenant, into quarantine", Reach.PROVIDER, reason=True),
    _change("node.maintenance", "take nodes out of service", Reach.PROVIDER, reason=True),
    _change("node.retire", "give nodes up for good", Reach.PROVIDER, reason=True),
    _change("node.delete", "remove retired nodes", Reach.PROVIDER, reason=True),
    _read("operation.read", "list, show and follow operations"),
    _change("operation.retry", "try failed steps again"),
    _change("operation.undo", "take back what an operation did", reason=True),
    _change("operation.abandon", "give an operation up where it stands", reason=True),
    _change("operation.cancel", "stop an operation at the next safe point"),
    _read("plan.read", "list and show plans"),
    _read("approval.read", "list and show changes that wait for a second person"),
    _change("approval.decide", "approve or refuse another person's change that the caller could make"),
    _read("audit.read", "read the audit"),
    _read("event.read", "read and follow events"),
    _read("service-account.read", "list and show service accounts and their tokens"),
    _change("service-account.create", "add a service account with permissions that the caller holds"),
    _change("service-account.delete", "remove a service account and its tokens", reason=True),
    _change("service-account.token", "issue and rotate tokens of a service account"),
    _change("service-account.revoke", "end a token of a service account at once"),
)

PERMISSIONS: Mapping[str, Permission] = {permission.name: permission for permission in _TABLE}
# Permissions that only roles at the provider can hold.
PROVIDERS = frozenset(permission.name for permission in _TABLE if permission.reach is Reach.PROVIDER)


def find(name: str) -> Permission:
    """The permission of this name, or a refusal that names the nearest."""
    if name in PERMISSIONS:
        return PERMISSIONS[name]
    near = get_close_matches(name, PERMISSIONS, 1)
    hint = f'; did you mean "{near[0]}"?' if near else "; GET /v1/roles lists them all"
    raise InvalidRequest(f'there is no permission "{name}"{hint}', permission=name)
