"""Sites: the places where nodes stand."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import AlreadyExists, NotEmpty, UnknownSite
from canton.store import versions
from canton.store.database import insert_new, now
from canton.store.listing import ListPage, Visible, Window, fetch
from canton.store.schema import node, site

SORTS = {"name": site.c.name, "created_at": site.c.created_at}


def unknown(name: str) -> UnknownSite:
    return UnknownSite(f'there is no site "{name}" that you may see; list those with: canton site list', site=name)


def page(connection: Connection, visible: Visible, window: Window) -> ListPage:
    """One page of the sites. Sites belong to no tenant: ``visible`` None sees all of them, anything else none."""
    query = sa.select(site).where(sa.true() if visible is None else sa.false())
    return fetch(connection, query, window, SORTS, site.c.name)


def find(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(sa.select(site).where(site.c.name == name)).mappings().one_or_none()
    if row is None:
        raise unknown(name)
    return row


def lock(connection: Connection, name: str) -> RowMapping:
    """The site's row, locked against changes by others until this transaction ends."""
    row = connection.execute(sa.select(site).where(site.c.name == name).with_for_update()).mappings().one_or_none()
    if row is None:
        raise unknown(name)
    return row


def create(connection: Connection, name: str, description: str) -> RowMapping:
    if not insert_new(connection, site, [{"name": name, "description": description}], created_at=now()):
        raise AlreadyExists(f'there is a site "{name}"; choose another name', site=name)
    return find(connection, name)


def describe(connection: Connection, name: str, description: str, if_version: int | None) -> tuple[RowMapping, bool]:
    """Set the description; returns the site's row, and whether it changed."""
    row = lock(connection, name)
    versions.require(f'site "{name}"', row["version"], if_version)
    if row["description"] == description:
        return row, False
    values = {"description": description, "version": site.c.version + 1}
    connection.execute(sa.update(site).where(site.c.name == name).values(values))
    return find(connection, name), True


def delete(connection: Connection, name: str, if_version: int | None) -> None:
    """Delete a site; raises NotEmpty if it has nodes."""
    row = lock(connection, name)
    versions.require(f'site "{name}"', row["version"], if_version)
    node_count = connection.scalar(sa.select(sa.func.count()).select_from(node).where(node.c.site == name))
    if node_count:
        raise NotEmpty(
            f'site "{name}" still has {node_count} nodes; retire and delete them first: canton node delete --help',
            site=name,
            nodes=node_count,
        )
    connection.execute(sa.delete(site).where(site.c.name == name))
