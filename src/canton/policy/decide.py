"""The one place that says yes or no, with the reason and the rule."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.data import JsonObject
from canton.policy.bindings import Binding, Principal
from canton.policy.permissions import PERMISSIONS, Reach
from canton.policy.roles import Roles, holders

# A service account renews its own token, whatever else it may do, unless its tenant is suspended.
SELF = "service-account.token"
_FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Question:
    """May a principal do this, to what belongs to this tenant (None: to nobody)?"""

    permission: str
    tenant: str | None = None
    suspended: bool = False
    """The tenant is: its own roles then only read."""
    account: str | None = None
    """The principal id of the service account that it is about."""
    by_provider: bool = False
    """It is about work of the provider's on what is the tenant's: the tenant's own roles only look on."""


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
    granted = [each for each in live if reaches(each, question.permission, question.tenant)]
    if not granted:
        return Decision(False, "not-granted", _what_would(principal, question, roles))
    # The provider's first: it is not stopped by what stops a tenant, in whatever order somebody got their roles.
    granting = min(granted, key=lambda each: each.tenant is not None)
    hindrance = _hindrance(question) if permission.change and granting.tenant is not None else None
    where = f"in {granting.tenant}" if granting.tenant else "at the provider"
    return hindrance or Decision(True, granting.rule, f"{principal.id} is {granting.role} {where}")


def _hindrance(question: Question) -> Decision | None:
    """What keeps a tenant's own role from a change that it would allow."""
    if question.by_provider and not question.suspended:
        return Decision(False, "by-provider", f"it is the provider's; {question.tenant} does not interfere with it")
    return _suspension(question)


def _suspension(question: Question) -> Decision | None:
    if not question.suspended:
        return None
    return Decision(False, "tenant-suspended", f"{question.tenant} is suspended: its members change nothing")


def reaches(binding: Binding, permission: str, tenant: str | None) -> bool:
    """The binding gives this permission for what belongs to this tenant; the list filter says the same in SQL."""
    if permission not in binding.permissions:
        return False
    everyone = PERMISSIONS[permission].reach is Reach.EVERYONE
    return everyone or binding.tenant is None or binding.tenant == tenant


def holds_until(principal: Principal, permission: str, tenant: str | None, now: int) -> int:
    """When the last role ends that gives this permission for what belongs to this tenant; ``now`` if none does."""
    giving = (each for each in principal.bindings if each.holds(now) and reaches(each, permission, tenant))
    return max((_FOREVER if each.until is None else each.until for each in giving), default=now)


@dataclass(frozen=True, slots=True)
class Rights:
    """Permissions that a change gives away: in a tenant or at the provider, until an instant or without end."""

    permissions: frozenset[str]
    tenant: str | None
    until: int | None = None

    def as_json(self) -> JsonObject:
        return {"permissions": sorted(self.permissions), "tenant": self.tenant, "until": self.until}


def missing(principal: Principal, rights: Rights) -> frozenset[str]:
    """The permissions that the principal does not hold there itself until then, and so cannot give."""
    last = _FOREVER if rights.until is None else rights.until - 1
    live = [binding for binding in principal.bindings if binding.holds(last)]
    return frozenset(p for p in rights.permissions if not any(_hands_on(each, p, rights.tenant) for each in live))


def _hands_on(binding: Binding, permission: str, tenant: str | None) -> bool:
    return permission in binding.permissions and binding.tenant in (None, tenant)


def _what_would(principal: Principal, question: Question, roles: Roles) -> str:
    where = f"in {question.tenant}" if question.tenant else "at the provider"
    able = holders(roles, question.permission, at_provider=question.tenant is None)
    listed = " or ".join(part for part in (", ".join(able[:-1]), *able[-1:]) if part) or "a role that has it"
    return f"no role of {principal.id} holds {question.permission} {where}; it takes {listed}"
