"""Principals (the callers) and the roles that they are bound to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canton.policy.roles import Role, Roles, RoleScope


class Kind(StrEnum):
    """A machine is a client of an issuer that acts for itself, or a caller that is not known to be a person."""

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
    """A role in one tenant, or at the provider (``tenant`` is None) and so in all tenants."""

    role: str
    tenant: str | None
    permissions: frozenset[str]
    source: Source
    until: int | None = None

    @property
    def rule(self) -> str:
        """The stable name of this binding in decisions and the audit."""
        return f"tenant:{self.role}" if self.tenant else f"provider:{self.role}"

    def holds(self, now: int) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Principal:
    """``id`` is ``cscs:alice`` for a person and ``service:psi/ci`` for a service account: what people read.

    ``identity`` never changes and is never given to another: ``cscs:<sub>``, ``service:<id>``. Two principals with
    the same identity are the same person.
    """

    id: str
    name: str
    kind: Kind
    issuer: str
    bindings: tuple[Binding, ...] = ()
    expires_at: int | None = None
    lifetime: int | None = None
    """The lifetime of a service account's token, in seconds."""
    identity: str = ""
    pinning_pending: bool = False
    """A binding for this name must still be pinned, or belongs to another identity and that is not recorded yet."""
    unpinned: bool = False
    """A binding by this name is not yet pinned, so this principal does not hold it."""


def bind(roles: Roles, role: str, tenant: str | None, source: Source, until: int | None = None) -> Binding:
    """A binding. It has no permissions if its role does not exist or cannot be bound at this place."""
    definition = roles.get(role)
    permissions = definition.permissions if definition and fits(definition, tenant) else frozenset[str]()
    return Binding(role, tenant, permissions, source, until)


def fits(role: Role, tenant: str | None) -> bool:
    return (role.scope is RoleScope.TENANT) == (tenant is not None)
