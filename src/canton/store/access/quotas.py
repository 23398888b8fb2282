"""Quotas: the limits of a tenant, and what it uses."""

from __future__ import annotations

from dataclasses import asdict

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import QuotaExceeded
from canton.domain.tenant import Quota
from canton.store import versions
from canton.store.access import tenants
from canton.store.database import insert_new
from canton.store.schema import quota

KINDS = Quota.__slots__


def find(connection: Connection, tenant: str) -> tuple[Quota, int]:
    """The quota and its version; 0 when none was ever set."""
    row = connection.execute(sa.select(quota).where(quota.c.tenant == tenant)).mappings().one_or_none()
    return (Quota(), 0) if row is None else (_quota(row), row["version"])


def used(connection: Connection, tenant: str) -> dict[str, int]:
    """What counts against the quota; only operations that the tenant's own members started."""
    contents = tenants.count_contents(connection, tenant)
    own = tenants.own_open_operations(connection, tenant)
    return {kind: getattr(contents, kind) for kind in KINDS} | {"open_operations": own}


def put(connection: Connection, tenant: str, new_quota: Quota, if_version: int | None) -> tuple[int, bool]:
    """Set the quota; returns its version, and whether it changed. A tenant keeps what it has beyond its quota."""
    tenants.lock(connection, tenant)
    current, version = find(connection, tenant)
    versions.require(f'the quota of tenant "{tenant}"', version, if_version)
    if current == new_quota and version:
        return version, False
    if not insert_new(connection, quota, [{"tenant": tenant, **asdict(new_quota)}]):
        values = asdict(new_quota) | {"version": version + 1}
        connection.execute(sa.update(quota).where(quota.c.tenant == tenant).values(values))
    return version + 1, True


def require_room(connection: Connection, tenant: str, kind: str, more: int = 1) -> None:
    """Raise QuotaExceeded if there is no room. The caller has locked the tenant, so two requests cannot both pass."""
    limit = getattr(find(connection, tenant)[0], kind)
    if limit is None:
        return
    has = used(connection, tenant)[kind]
    if has + more > limit:
        raise QuotaExceeded(
            f'tenant "{tenant}" has {has} of {limit} {kind.replace("_", " ")} and wants {more} more; '
            "free some, or ask the provider to raise the quota",
            tenant=tenant,
            kind=kind,
            limit=limit,
            used=has,
        )


def _quota(row: RowMapping) -> Quota:
    return Quota(**{kind: row[kind] for kind in KINDS})
