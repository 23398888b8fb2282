"""Tenants: who has, or had, a part of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import AlreadyExists, InvalidRequest, NotEmpty, UnknownTenant
from canton.domain.operation import ENDED
from canton.domain.tenant import TenantState
from canton.store import versions
from canton.store.database import insert_new, now
from canton.store.listing import Slice, Visible, Window, fetch, visible_to
from canton.store.schema import binding, node, operation, service_account, tenant

_NODES = sa.select(sa.func.count()).where(node.c.tenant == tenant.c.name).correlate(tenant).scalar_subquery()
_TENANT = sa.select(tenant, _NODES.label("nodes")).where(tenant.c.state != TenantState.DELETED)
# The provider's service accounts are service:provider/<name>: a tenant of that name could have their namesakes.
RESERVED = "provider"
SORTS = {"name": tenant.c.name, "created_at": tenant.c.created_at}


def unknown(name: str) -> UnknownTenant:
    """For what is absent and for what the caller may not see: nobody can tell them apart."""
    return UnknownTenant(
        f'there is no tenant "{name}" that you may see; list those with: canton tenant list', tenant=name
    )


def page(connection: Connection, visible: Visible, state: str | None, window: Window) -> Slice:
    query = _TENANT.where(visible_to(visible, tenant.c.name))
    if state is not None:
        query = query.where(tenant.c.state == state)
    return fetch(connection, query, window, SORTS, tenant.c.name)


def find(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(_TENANT.where(tenant.c.name == name)).mappings().one_or_none()
    if row is None:
        raise unknown(name)
    return row


def lock(connection: Connection, name: str) -> RowMapping:
    """The tenant, which nobody else can change or delete before this transaction ends."""
    connection.execute(sa.select(tenant.c.name).where(tenant.c.name == name).with_for_update())
    return find(connection, name)


def state(connection: Connection, name: str) -> str | None:
    """None when there is no such tenant."""
    query = sa.select(tenant.c.state).where(tenant.c.name == name, tenant.c.state != TenantState.DELETED)
    return connection.scalar(query)


def create(connection: Connection, name: str, description: str) -> RowMapping:
    if name == RESERVED:
        raise InvalidRequest(f'"{name}" cannot be a tenant\'s name, since it stands for no tenant; choose another')
    row = {"name": name, "description": description, "state": TenantState.ACTIVE}
    if not insert_new(connection, tenant, [row], created_at=now()):
        raise AlreadyExists(
            f'the name "{name}" is or was a tenant\'s, and audit and events are kept under it; choose another',
            tenant=name,
        )
    return find(connection, name)


def change(connection: Connection, name: str, if_version: int | None, **values: Any) -> tuple[RowMapping, bool]:
    """The tenant as it is now, and whether that is new."""
    found = lock(connection, name)
    versions.require(f'tenant "{name}"', found["version"], if_version)
    if all(found[column] == value for column, value in values.items()):
        return found, False
    changed = sa.update(tenant).where(tenant.c.name == name).values(values | {"version": tenant.c.version + 1})
    connection.execute(changed)
    return find(connection, name), True


@dataclass(frozen=True, slots=True)
class Remains:
    """What still belongs to a tenant."""

    nodes: int
    open_operations: int
    bindings: int
    service_accounts: int


def remains(connection: Connection, name: str) -> Remains:
    def count(table: sa.Table, *more: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(table.c.tenant == name, *more)
        return int(connection.scalar(query) or 0)

    is_open = operation.c.state.not_in(ENDED)
    return Remains(count(node), count(operation, is_open), count(binding), count(service_account))


def delete(connection: Connection, name: str, if_version: int | None) -> None:
    """Refused while anything remains; the name stays taken."""
    found = lock(connection, name)
    versions.require(f'tenant "{name}"', found["version"], if_version)
    left = remains(connection, name)
    counts = {what: getattr(left, what) for what in Remains.__slots__ if getattr(left, what)}
    if counts:
        listed = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items())
        raise NotEmpty(f'tenant "{name}" still has {listed}; take them away first', tenant=name, **counts)
    connection.execute(
        sa.update(tenant)
        .where(tenant.c.name == name)
        .values(state=TenantState.DELETED, description="", version=tenant.c.version + 1)
    )
