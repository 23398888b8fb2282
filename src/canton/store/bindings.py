"""Bindings that Canton keeps: who has which role, where, and until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import UnknownBinding
from canton.domain.tenant import TenantState
from canton.store import identifiers, tenants
from canton.store.database import now
from canton.store.listing import Slice, Visible, Window, fetch, visible_to
from canton.store.schema import binding, tenant

SORTS = {"id": binding.c.id, "subject": binding.c.subject, "created_at": binding.c.created_at}


@dataclass(frozen=True, slots=True)
class Grant:
    subject: str
    role: str
    tenant: str | None
    until: int | None


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
            binding.c.subject.in_(subjects),
            sa.or_(binding.c.tenant.is_(None), tenant.c.state != TenantState.DELETED),
        )
    )
    return list(connection.execute(query).mappings())


def page(connection: Connection, visible: Visible, filters: Sequence[sa.ColumnElement[bool]], window: Window) -> Slice:
    query = sa.select(binding).where(visible_to(visible, binding.c.tenant), *filters)
    return fetch(connection, query, window, SORTS, binding.c.id)


def find(connection: Connection, binding_id: str) -> RowMapping:
    row = connection.execute(sa.select(binding).where(binding.c.id == binding_id)).mappings().one_or_none()
    if row is None:
        raise unknown(binding_id)
    return row


def grant(connection: Connection, wanted: Grant, by: str, reason: str) -> tuple[RowMapping, bool]:
    """The binding, and whether it or its end is new; one role is held once at one place."""
    if wanted.tenant is not None:
        tenants.lock(connection, wanted.tenant)
    place = binding.c.tenant.is_(None) if wanted.tenant is None else binding.c.tenant == wanted.tenant
    same = sa.and_(binding.c.subject == wanted.subject, binding.c.role == wanted.role, place)
    held = connection.execute(sa.select(binding).where(same).with_for_update()).mappings().one_or_none()
    if held is None:
        values = {"id": identifiers.fresh("bd"), "granted_by": by, "reason": reason}
        values |= {name: getattr(wanted, name) for name in Grant.__slots__}
        connection.execute(sa.insert(binding).values(values | {"created_at": now()}))
        return find(connection, values["id"]), True
    if held["until"] == wanted.until:
        return held, False
    renewed = {"until": wanted.until, "granted_by": by, "reason": reason}
    connection.execute(sa.update(binding).where(same).values(renewed))
    return find(connection, held["id"]), True


def revoke(connection: Connection, binding_id: str) -> None:
    if not connection.execute(sa.delete(binding).where(binding.c.id == binding_id)).rowcount:
        raise unknown(binding_id)
