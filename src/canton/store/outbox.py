"""The outbox: one numbered stream of events per tenant, without gaps.

A reader remembers the number of its last event and asks for later ones. That is only correct if a number never becomes
visible before a smaller one. So numbers are taken by updating the stream's row, which stays locked until the writer
commits: the next writer of this stream gets its numbers after that. A rollback releases the numbers. Other streams do
not wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.json_types import JsonObject
from canton.store import schema
from canton.store.database import insert_new, now
from canton.store.prepared_statements import PreparedStatement

# The stream of events without a tenant. A tenant's name has no colon.
PROVIDER = "provider:"


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    subject: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class StoredEvent:
    seq: int
    at: int
    kind: str
    subject: str
    body: JsonObject


_take_numbers = PreparedStatement(
    sa.update(schema.stream)
    .where(schema.stream.c.name == sa.bindparam("stream"))
    .values(last=schema.stream.c.last + sa.bindparam("count", type_=sa.BigInteger))
    .returning(schema.stream.c.last)
)
_insert = PreparedStatement(
    sa.insert(schema.event).values(
        {name: sa.bindparam(name) for name in ("stream", "seq", "kind", "subject", "body")} | {"at": now()}
    )
)
_last = sa.select(schema.stream.c.last).where(schema.stream.c.name == sa.bindparam("stream"))
_lasts = sa.select(schema.stream.c.name, schema.stream.c.last)
_after = (
    sa.select(*(schema.event.c[name] for name in StoredEvent.__slots__))
    .where(schema.event.c.stream == sa.bindparam("stream"), schema.event.c.seq > sa.bindparam("after"))
    .order_by(schema.event.c.seq)
    .limit(sa.bindparam("limit"))
)


def append(connection: Connection, stream: str, events: Sequence[Event]) -> None:
    """Add events inside the caller's transaction. Locks the stream until it ends: the last lock to take."""
    if not events:
        return
    first = _reserve(connection, stream, len(events))
    _insert.execute_each(
        connection,
        [
            {"stream": stream, "seq": seq, "kind": e.kind, "subject": e.subject, "body": json.dumps(e.body)}
            for seq, e in enumerate(events, first)
        ],
    )


def read(connection: Connection, stream: str, after: int, limit: int) -> list[StoredEvent]:
    """The next events of a stream, oldest first; empty when there is nothing new."""
    rows = connection.execute(_after, {"stream": stream, "after": after, "limit": limit})
    return [StoredEvent(*row) for row in rows]


def lasts(connection: Connection) -> dict[str, int]:
    """The number of the newest event of every stream."""
    return {row.name: row.last for row in connection.execute(_lasts)}


def beginning(
    connection: Connection, lasts: Mapping[str, int], subject: str | None, since: int | None, newest: int | None
) -> dict[str, int]:
    """The start position in each stream for a reader of events ``since`` an instant, and of at most the ``newest`` N.

    A stream without such events starts at its end.
    """
    events = schema.event.c
    conditions: list[sa.ColumnElement[bool]] = [events.stream.in_(list(lasts))]
    conditions += [] if subject is None else [events.subject == subject]
    conditions += [] if since is None else [events.at >= since]
    query = sa.select(events.stream, events.seq).where(*conditions)
    if newest is not None:
        query = query.order_by(events.at.desc(), events.seq.desc()).limit(newest)
    rows = query.subquery().c
    firsts = connection.execute(sa.select(rows.stream, sa.func.min(rows.seq)).group_by(rows.stream))
    return {**lasts, **{stream: first - 1 for stream, first in firsts}}


def last(connection: Connection, stream: str) -> int:
    """The number of the newest event; 0 when there never was one."""
    return connection.scalar(_last, {"stream": stream}) or 0


def _reserve(connection: Connection, stream: str, count: int) -> int:
    """Take ``count`` numbers and return the first of them."""
    numbers = {"stream": stream, "count": count}
    newest = _take_numbers.execute(connection, numbers).scalar()
    if newest is None:
        insert_new(connection, schema.stream, [{"name": stream, "last": 0}])
        newest = _take_numbers.execute(connection, numbers).scalar_one()
    return int(newest) - count + 1
