"""Tenants: the institutions that have, or had, a part of the machine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import AlreadyExists, InvalidRequest, NotEmpty, UnknownTenant
from canton.domain.operation import ENDED
from canton.domain.tenant import TenantState
from canton.store import versions
from canton.store.database import insert_new, now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.schema import binding, node, operation, service_account, tenant

_NODES = sa.select(sa.func.count()).where(node.c.tenant == tenant.c.name).correlate(tenant).scalar_subquery()
_TENANT = sa.select(tenant, _NODES.label("nodes")).where(tenant.c.state != TenantState.DELETED)
# The provider's service accounts are service:provider/<name>: a tenant of that name could have equal ones.
RESERVED = "provider"
SORTS = {"name": tenant.c.name, "created_at": tenant.c.created_at}


def unknown(name: str) -> UnknownTenant:
    """The same error for an absent object and for one that the caller may not see."""
    return UnknownTenant(
        f'there is no tenant "{name}" that you may see; list those with: canton tenant list', tenant=name
    )


def page(connection: Connection, visible: Visible, state: str | None, window: Window) -> ListPage:
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
    """The tenant's row, locked against changes by others until this transaction ends."""
    connection.execute(sa.select(tenant.c.name).where(tenant.c.name == name).with_for_update())
    return find(connection, name)


def state(connection: Connection, name: str) -> str | None:
    """The state of the tenant; None if it does not exist."""
    query = sa.select(tenant.c.state).where(tenant.c.name == name, tenant.c.state != TenantState.DELETED)
    return connection.scalar(query)


def hold(connection: Connection, name: str) -> str | None:
    """The state, which cannot change before the transaction ends. The tenant's changes wait for each other."""
    mine = sa.select(tenant.c.name).where(tenant.c.name == name)
    # FOR NO KEY UPDATE: rows that refer to the tenant can still be written, by a worker for instance.
    connection.execute(mine.with_for_update(key_share=True))
    return state(connection, name)


def deleted(connection: Connection, names: Collection[str]) -> frozenset[str]:
    """The names that belong to deleted tenants."""
    if not names:
        return frozenset()
    query = sa.select(tenant.c.name).where(tenant.c.name.in_(sorted(names)), tenant.c.state == TenantState.DELETED)
    return frozenset(connection.scalars(query))


def create(connection: Connection, name: str, description: str, visible: Visible = frozenset()) -> RowMapping:
    """Create a tenant. ``visible`` are the tenants that the caller may see, for the message if the name is taken."""
    if name == RESERVED:
        raise InvalidRequest(f'"{name}" cannot be a tenant\'s name, since it stands for no tenant; choose another')
    row = {"name": name, "description": description, "state": TenantState.ACTIVE}
    if not insert_new(connection, tenant, [row], created_at=now()):
        name_is_visible = visible is None or name in visible
        if name_is_visible and state(connection, name) is not None:
            raise AlreadyExists(f'tenant "{name}" exists; see it with: canton tenant show {name}', tenant=name)
        raise AlreadyExists(
            f'the name "{name}" is or was a tenant\'s, and audit and events are kept under it; choose another',
            tenant=name,
        )
    return find(connection, name)


def change(connection: Connection, name: str, if_version: int | None, **values: Any) -> tuple[RowMapping, bool]:
    """Set columns of a tenant; returns its row, and whether it changed."""
    row = lock(connection, name)
    versions.require(f'tenant "{name}"', row["version"], if_version)
    if all(row[column] == value for column, value in values.items()):
        return row, False
    changed = sa.update(tenant).where(tenant.c.name == name).values(values | {"version": tenant.c.version + 1})
    connection.execute(changed)
    return find(connection, name), True


@dataclass(frozen=True, slots=True)
class TenantContents:
    """How many objects a tenant has."""

    nodes: int
    open_operations: int
    bindings: int
    service_accounts: int


_COMMANDS_TO_EMPTY = {
    "nodes": "canton node release @{tenant} --reason '…'",
    "open_operations": "wait for those of: canton operation list --tenant {tenant}",
    "bindings": "canton member remove … for those of: canton member list --tenant {tenant}",
    "service_accounts": "canton service-account delete … for those of: canton service-account list --tenant {tenant}",
}


def count_contents(connection: Connection, name: str) -> TenantContents:
    def count(table: sa.Table, *more: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(table.c.tenant == name, *more)
        return int(connection.scalar(query) or 0)

    is_open = operation.c.state.not_in(ENDED)
    return TenantContents(count(node), count(operation, is_open), count(binding), count(service_account))


def own_open_operations(connection: Connection, name: str) -> int:
    """The number of open operations that the tenant's own roles started, without the provider's on its nodes."""
    own = (operation.c.tenant == name, operation.c.by_provider == 0, operation.c.state.not_in(ENDED))
    return int(connection.scalar(sa.select(sa.func.count()).select_from(operation).where(*own)) or 0)


def delete(connection: Connection, name: str, if_version: int | None) -> None:
    """Delete a tenant; raises NotEmpty if it has anything left. Its name cannot be used again."""
    row = lock(connection, name)
    versions.require(f'tenant "{name}"', row["version"], if_version)
    contents = count_contents(connection, name)
    counts = {what: getattr(contents, what) for what in TenantContents.__slots__ if getattr(contents, what)}
    if counts:
        nouns = {what: what.replace("_", " ").removesuffix("s" if counts[what] == 1 else "") for what in counts}
        contents_text = ", ".join(f"{counts[what]} {noun}" for what, noun in nouns.items())
        ways = "; ".join(_COMMANDS_TO_EMPTY[what].format(tenant=name) for what in counts)
        raise NotEmpty(f'tenant "{name}" still has {contents_text}; first: {ways}', tenant=name, **counts)
    connection.execute(
        sa.update(tenant)
        .where(tenant.c.name == name)
        .values(state=TenantState.DELETED, description="", version=tenant.c.version + 1)
    )
