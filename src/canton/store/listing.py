"""One page of a list: a keyset window, and the filter by whose the rows are.

A page starts after the last row of the one before, by its sort key and, where that is not unique, its identifier. So
a page costs the same at the end of a list as at its beginning, and rows that come or go in between shift nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import InvalidCursor

# The tenants whose rows may be seen; None is everything. An empty set is nothing, never everything.
Visible: TypeAlias = frozenset[str] | None
Key: TypeAlias = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class Window:
    limit: int
    sort: str
    descending: bool = False
    after: Key | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    rows: list[RowMapping]
    next: Key | None
    """Where the next page starts; None at the end."""


def visible_to(visible: Visible, tenant: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return sa.true() if visible is None else tenant.in_(sorted(visible))


def fetch(
    connection: Connection,
    query: sa.Select[Any],
    window: Window,
    sorts: Mapping[str, sa.ColumnElement[Any]],
    unique: sa.ColumnElement[Any],
) -> Slice:
    """``sorts`` are the columns, never NULL, that a caller may sort by; ``unique`` is the identifier."""
    chosen = sorts[window.sort]
    keys = [chosen] if chosen is unique else [chosen, unique]
    query = query.add_columns(*(key.label(f"key{n}") for n, key in enumerate(keys)))
    query = query.order_by(*(key.desc() if window.descending else key.asc() for key in keys)).limit(window.limit + 1)
    if window.after is not None:
        query = query.where(_beyond(window.after, keys, descending=window.descending))
    rows = list(connection.execute(query).mappings())
    if len(rows) <= window.limit:
        return Slice(rows, None)
    last = rows[window.limit - 1]
    return Slice(rows[: window.limit], [last[f"key{n}"] for n in range(len(keys))])


def _beyond(after: Key, keys: Sequence[sa.ColumnElement[Any]], *, descending: bool) -> sa.ColumnElement[bool]:
    if [type(value) for value in after] != [key.type.python_type for key in keys]:
        raise InvalidCursor("this cursor was not given by this list; start again without after")
    here = sa.tuple_(*keys)
    there = sa.tuple_(*(sa.literal(value, key.type) for value, key in zip(after, keys, strict=True)))
    return here < there if descending else here > there
