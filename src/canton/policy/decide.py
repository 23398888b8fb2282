"""Decides whether a principal may do something, with the reason and the rule that decided."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.json_types import JsonObject
from canton.policy.bindings import Binding, Principal
from canton.policy.permissions import PERMISSIONS, Reach
from canton.policy.roles import Roles, holders

# A service account renews its own token, whatever else it may do, unless its tenant is suspended.
SELF = "service-account.token"
_FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Question:
    """May a principal do this, to an object of this tenant (None: of no tenant)?"""

    permission: str
    tenant: str | None = None
    suspended: bool = False
    """Whether the tenant is suspended; its own roles can then only read."""
    account: str | None = None
    """The principal id of the service account that is the object."""
    by_provider: bool = False
    """Whether the object is the provider's work on the tenant's nodes; the tenant's own roles can then only read."""


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    rule: str
    reason: str


def decide(principal: Principal, question: Question, roles: Roles, now: int) -> Decision:
    permission = PERMISSIONS.get(question.permission)
    if permission is None:
        return Decision(False, "unknown-permission", f'there is no permission "{question.permission}"')
    if question.permission == SELF and question.account == principal.id:
        return _suspension(question) or Decision(True, "own-account", "a service account renews its own tokens")
    live = [binding for binding in principal.bindings if binding.holds(now)]
    if not live:
        return Decision(False, "no-bindings", f"{principal.id} is bound to no role")
    granting = [binding for binding in live if reaches(binding, question.permission, question.tenant)]
    if not granting:
        return Decision(False, "not-granted", _missing_permission(principal, question, roles))
    # A binding at the provider decides first: no refusal that is for a tenant's own roles applies to it.
    binding = min(granting, key=lambda binding: binding.tenant is not None)
    refusal = _refusal_for_tenant(question) if permission.change and binding.tenant is not None else None
    where = f"in {binding.tenant}" if binding.tenant else "at the provider"
    return refusal or Decision(True, binding.rule, f"{principal.id} is {binding.role} {where}")


def _refusal_for_tenant(question: Question) -> Decision | None:
    """The refusal of a change that a tenant's own role would otherwise allow; None if there is none."""
    if question.by_provider and not question.suspended:
        return Decision(False, "by-provider", f"it is the provider's; {question.tenant} does not interfere with it")
    return _suspension(question)


def _suspension(question: Question) -> Decision | None:
    if not question.suspended:
        return None
    return Decision(False, "tenant-suspended", f"{question.tenant} is suspended: its members change nothing")


def reaches(binding: Binding, permission: str, tenant: str | None) -> bool:
    """Whether the binding gives this permission for objects of this tenant; the list filter is the same rule in SQL."""
    if permission not in binding.permissions:
        return False
    everyone = PERMISSIONS[permission].reach is Reach.EVERYONE
    return everyone or binding.tenant is None or binding.tenant == tenant


def holds_until(principal: Principal, permission: str, tenant: str | None, now: int) -> int:
    """When the last binding ends that gives this permission for objects of this tenant; ``now`` if none does."""
    bindings = (it for it in principal.bindings if it.holds(now) and reaches(it, permission, tenant))
    return max((_FOREVER if it.until is None else it.until for it in bindings), default=now)


@dataclass(frozen=True, slots=True)
class Rights:
    """Permissions that a change would grant: in a tenant or at the provider, until an instant or without end."""

    permissions: frozenset[str]
    tenant: str | None
    until: int | None = None

    def as_json(self) -> JsonObject:
        return {"permissions": sorted(self.permissions), "tenant": self.tenant, "until": self.until}


def missing(principal: Principal, rights: Rights) -> frozenset[str]:
    """The permissions among ``rights`` that the principal does not hold for as long, and so cannot grant."""
    last = _FOREVER if rights.until is None else rights.until - 1
    live = [binding for binding in principal.bindings if binding.holds(last)]
    return frozenset(
        p for p in rights.permissions if not any(_can_grant(binding, p, rights.tenant) for binding in live)
    )


def _can_grant(binding: Binding, permission: str, tenant: str | None) -> bool:
    return permission in binding.permissions and binding.tenant in (None, tenant)


def _missing_permission(principal: Principal, question: Question, roles: Roles) -> str:
    where = f"in {question.tenant}" if question.tenant else "at the provider"
    roles_with_it = holders(roles, question.permission, at_provider=question.tenant is None)
    alternatives = " or ".join(part for part in (", ".join(roles_with_it[:-1]), *roles_with_it[-1:]) if part)
    needed = alternatives or "a role that has it"
    return f"no role of {principal.id} holds {question.permission} {where}; it takes {needed}"
