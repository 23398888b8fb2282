"""Who is asking, and what they are bound to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canton.policy.roles import Role, Roles, RoleScope


class Kind(StrEnum):
    """A machine is a client of an issuer that acts for itself, and whatever is not known to be a person."""

    PERSON = "person"
    MACHINE = "machine"
    SERVICE_ACCOUNT = "service-account"


class Source(StrEnum):
    """Where a binding comes from: the issuer's claims, a grant that Canton keeps, or a service account itself."""

    CLAIM = "claim"
    GRANT = "grant"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Binding:
    """Permissions in one tenant, or at the provider (``tenant`` is None) and so in all of them."""

    role: str
    tenant: str | None
    permissions: frozenset[str]
    source: Source
    until: int | None = None

    @property
    def rule(self) -> str:
        """The stable name of what decided."""
        return f"tenant:{self.role}" if self.tenant else f"provider:{self.role}"

    def holds(self, now: int) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Principal:
    """``id`` is ``cscs:alice`` for a person and ``service:psi/ci`` for a service account: what people read.

    ``identity`` is what never changes and is never another's: ``cscs:<sub>``, ``service:<id>``. Two principals are the
    same person if it is the same.
    """

    id: str
    name: str
    kind: Kind
    issuer: str
    bindings: tuple[Binding, ...] = ()
    expires_at: int | None = None
    lifetime: int | None = None
    """Of a service account's token: the whole seconds that it was issued for."""
    identity: str = ""
    unsettled: bool = False
    """A binding by this name is not yet pinned to anybody, or is another's, and neither has been recorded."""
    unpinned: bool = False
    """A binding by this name is not yet pinned to anybody, so this principal does not hold it."""


def bind(roles: Roles, role: str, tenant: str | None, source: Source, until: int | None = None) -> Binding:
    """A binding holds nothing when its role is not known here, or cannot be bound at this place."""
    known = roles.get(role)
    held = known.permissions if known and fits(known, tenant) else frozenset[str]()
    return Binding(role, tenant, held, source, until)


def fits(role: Role, tenant: str | None) -> bool:
    return (role.scope is RoleScope.TENANT) == (tenant is not None)
