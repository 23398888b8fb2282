"""Versions of the rows a plan was made from, by names such as ``node:x1000c0s0b0n0``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import VersionMismatch
from canton.store.schema import node, tenant

_KEYS = {"node": node.c.xname, "tenant": tenant.c.name}


def current(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The current versions; these rows cannot change before the transaction ends. Deleted rows are left out."""
    keys_by_table: dict[str, list[str]] = defaultdict(list)
    for name in names:
        table, _, key = name.partition(":")
        keys_by_table[table].append(key)
    versions: dict[str, int] = {}
    for table, keys in sorted(keys_by_table.items()):
        column = _KEYS[table]
        rows = connection.execute(
            sa.select(column, column.table.c.version)
            .where(column.in_(keys))
            .order_by(column)
            .with_for_update(read=True)
        )
        versions |= {f"{table}:{key}": version for key, version in rows}
    return versions


def require(what: str, current_version: int, expected_version: int | None) -> None:
    """Raise VersionMismatch if the caller read another version."""
    if expected_version is not None and expected_version != current_version:
        raise VersionMismatch(
            f"{what} is at version {current_version}, and the request is for version {expected_version}; "
            "read it again and repeat",
            found=current_version,
            wanted=expected_version,
        )
