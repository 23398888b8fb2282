"""Bindings that Canton keeps: who has which role, where, and until when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.data import storable
from canton.domain.errors import Conflict, UnknownBinding
from canton.domain.tenant import TenantState
from canton.store import identifiers, tenants
from canton.store.database import insert_new, now
from canton.store.listing import Slice, Visible, Window, fetch, visible_to
from canton.store.schema import binding, tenant

SORTS = {"id": binding.c.id, "subject": binding.c.subject, "created_at": binding.c.created_at}


@dataclass(frozen=True, slots=True)
class Grant:
    subject: str
    role: str
    tenant: str | None
    until: int | None


class Granted(NamedTuple):
    row: RowMapping
    created: bool
    changed: bool
    """It, or when it ends, is new."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Which bindings a list is about; None is any."""

    tenant: str | None = None
    role: str | None = None
    subject: str | None = None
    provider: bool = False
    """Only those at the provider."""

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        for name in ("tenant", "role", "subject"):
            value = getattr(self, name)
            if value is not None:
                yield binding.c[name] == value
        if self.provider:
            yield binding.c.tenant.is_(None)


def unknown(binding_id: str) -> UnknownBinding:
    return UnknownBinding(
        f"there is no binding {binding_id} that you may see; list those with: canton member list", binding=binding_id
    )


def of_subjects(connection: Connection, subjects: Sequence[str]) -> list[RowMapping]:
    """What these subjects hold, expired or not; nothing in a tenant that was deleted."""
    query = (
        sa.select(binding.c.role, binding.c.tenant, binding.c.until)
        .outerjoin(tenant, binding.c.tenant == tenant.c.name)
        .where(
            # A group's name is the issuer's to choose; one that no database can keep has no binding.
            binding.c.subject.in_([subject for subject in subjects if storable(subject) == subject]),
            sa.or_(binding.c.tenant.is_(None), tenant.c.state != TenantState.DELETED),
        )
    )
    return list(connection.execute(query).mappings())


def page(connection: Connection, visible: Visible, sought: Sought, window: Window) -> Slice:
    query = sa.select(binding).where(visible_to(visible, binding.c.tenant), *sought.conditions())
    return fetch(connection, query, window, SORTS, binding.c.id)


def members(connection: Connection, of: str, window: Window) -> tuple[Slice, Mapping[str, Sequence[RowMapping]]]:
    """One page of the subjects bound in a tenant, and the bindings of each."""
    query = sa.select(binding.c.subject).where(binding.c.tenant == of).distinct()
    found = fetch(connection, query, window, {"subject": binding.c.subject}, binding.c.subject)
    held: dict[str, list[RowMapping]] = {row["subject"]: [] for row in found.rows}
    theirs = sa.select(binding).where(binding.c.tenant == of, binding.c.subject.in_(list(held)))
    for row in connection.execute(theirs.order_by(binding.c.role)).mappings():
        held[row["subject"]].append(row)
    return found, held


def place(connection: Connection, binding_id: str) -> str | None:
    """The tenant of a binding; None when it is at the provider, or not there at all."""
    return connection.scalar(sa.select(binding.c.tenant).where(binding.c.id == binding_id))


def find(connection: Connection, binding_id: str) -> RowMapping:
    row = connection.execute(sa.select(binding).where(binding.c.id == binding_id)).mappings().one_or_none()
    if row is None:
        raise unknown(binding_id)
    return row


def grant(connection: Connection, wanted: Grant, by: str, reason: str) -> Granted:
    """One role is held once at one place; granted again, it ends when the new grant says."""
    if wanted.tenant is not None:
        tenants.lock(connection, wanted.tenant)
    values = {"id": identifiers.fresh("bd"), "granted_by": by, "reason": reason}
    values |= {name: getattr(wanted, name) for name in Grant.__slots__}
    if insert_new(connection, binding, [values], created_at=now()):
        return Granted(find(connection, values["id"]), created=True, changed=True)
    held = _held(connection, wanted)
    if held["until"] == wanted.until:
        return Granted(held, created=False, changed=False)
    renewed = {"until": wanted.until, "granted_by": by, "reason": reason}
    connection.execute(sa.update(binding).where(binding.c.id == held["id"]).values(renewed))
    return Granted(find(connection, held["id"]), created=False, changed=True)


def _held(connection: Connection, wanted: Grant) -> RowMapping:
    place = binding.c.tenant.is_(None) if wanted.tenant is None else binding.c.tenant == wanted.tenant
    same = sa.and_(binding.c.subject == wanted.subject, binding.c.role == wanted.role, place)
    row = connection.execute(sa.select(binding).where(same).with_for_update()).mappings().one_or_none()
    if row is None:
        raise Conflict(f"the binding of {wanted.subject} to {wanted.role} was revoked at this moment; try again")
    return row


def revoke(connection: Connection, binding_id: str) -> None:
    if not connection.execute(sa.delete(binding).where(binding.c.id == binding_id)).rowcount:
        raise unknown(binding_id)
