"""One page of a list: keyset pagination, and the filter by tenant.

A page starts after the last row of the previous one, by sort key and, if that is not unique, identifier. So a page
costs the same at the end of a list as at its beginning, and rows that are added or deleted in between shift nothing.

Rows are read a few at a time until the page is full or large: a caller can ask for 1,000 rows, and a row can have a
document of megabytes.
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
PageKey: TypeAlias = Sequence[int | str]
# In bytes.
LARGEST_PAGE = 2**20
_ROWS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Window:
    limit: int
    sort: str
    descending: bool = False
    after: PageKey | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    rows: list[RowMapping]
    next: PageKey | None
    """The key after which the next page starts; None at the end."""
    size: int = 0
    """The approximate size of the rows in bytes."""


def visible_in_both(one: Visible, other: Visible) -> Visible:
    """The tenants that are visible in both."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def visible_to(visible: Visible, tenant: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return sa.true() if visible is None else tenant.in_(sorted(visible))


def fetch(
    connection: Connection,
    query: sa.Select[Any],
    window: Window,
    sorts: Mapping[str, sa.ColumnElement[Any]],
    unique: sa.ColumnElement[Any],
) -> ListPage:
    """One page of at most ``LARGEST_PAGE`` bytes of rows, but at least one row if there is any.

    ``sorts`` are the columns, never NULL, that a caller may sort by; ``unique`` is the identifier.
    """
    sort_column = sorts[window.sort]
    keys = [sort_column] if sort_column is unique else [sort_column, unique]
    query = query.add_columns(*(key.label(f"key{n}") for n, key in enumerate(keys)))
    query = query.order_by(*(key.desc() if window.descending else key.asc() for key in keys)).limit(window.limit + 1)
    if window.after is not None:
        query = query.where(_beyond(window.after, keys, descending=window.descending))
    rows: list[RowMapping] = []
    size = 0
    with connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)) as result:
        for row in result.mappings():
            size += len(repr(tuple(row.values())).encode())
            if len(rows) == window.limit or (rows and size > LARGEST_PAGE):
                return ListPage(rows, [rows[-1][f"key{n}"] for n in range(len(keys))], size)
            rows.append(row)
    return ListPage(rows, None, size)


def _beyond(after: PageKey, keys: Sequence[sa.ColumnElement[Any]], *, descending: bool) -> sa.ColumnElement[bool]:
    if len(after) != len(keys) or not all(map(_fits, after, keys)):
        raise InvalidCursor("this cursor is not from this list; start again without after")
    row_key = sa.tuple_(*keys)
    cursor_key = sa.tuple_(*(sa.literal(value, key.type) for value, key in zip(after, keys, strict=True)))
    return row_key < cursor_key if descending else row_key > cursor_key


def _fits(value: int | str, key: sa.ColumnElement[Any]) -> bool:
    """Whether the column could hold the value: PostgreSQL raises for a comparison with a larger number."""
    if type(value) is not key.type.python_type:
        return False
    bits = 63 if isinstance(key.type, sa.BigInteger) else 31
    return not isinstance(value, int) or -(2**bits) <= value < 2**bits
