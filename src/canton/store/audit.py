"""The audit: who did what, when and why. Append-only; every record is chained to the one before it.

A record's hash covers its own fields and the hash of its predecessor; ``audit_head`` repeats the last one.
A change, removal, insertion or reordering of records breaks the chain at that place. A rewrite of the whole chain and
its head leaves no trace inside the database: only a head stored elsewhere (``anchor``) reveals it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import AuditBroken
from canton.domain.json_types import JsonObject, canonical, digest
from canton.store import schema
from canton.store.database import now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to

# What the first record names as its predecessor.
GENESIS = "sha256:" + "0" * 64
# Rows held in memory at a time while the chain is read.
BATCH = 1_000
# How far away a renumbered record is searched. Trying every number of a chain of a million would take longer than
# PostgreSQL allows a transaction to be idle.
NEIGHBOURHOOD = 1_000

SORTS = {"seq": schema.audit.c.seq}

# In characters. A caller without any role chooses the subject of its refusals, and an issuer the names of its people.
LONGEST_SUBJECT = 300
LONGEST_ACTOR = 300
LONGEST_REASON = 500
# Enough for the folded names of ten thousand nodes in no order. Longer details lose every value above LONGEST_VALUE.
LONGEST_DETAILS = 256 * 1024
LONGEST_VALUE = 1_000

Anchor: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain. There are ``seq`` records, numbered from 1 without gaps."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


@dataclass(frozen=True, slots=True)
class Record:
    seq: int
    at: int
    actor: str
    action: str
    subject: str
    reason: str
    details: str
    tenant: str | None
    previous: str
    hash: str

    def seal(self) -> str:
        """The correct hash. It covers ``details`` as the stored text, in which not even a space may change."""
        return digest(
            [
                self.seq,
                self.at,
                self.actor,
                self.action,
                self.subject,
                self.reason,
                self.details,
                self.previous,
            ]
        )

    def is_sealed(self) -> bool:
        try:
            return self.seal() == self.hash and self.tenant == tenant_of(self.details)
        except (
            TypeError,
            ValueError,
            AttributeError,
        ):  # SQLite keeps what it is given: a blob cannot have been written by us
            return False


def tenant_of(details: str) -> str | None:
    """The tenant of a record according to its hashed details; the column ``tenant`` must agree."""
    return json.loads(details).get("tenant") if '"tenant"' in details else None


_head = sa.select(schema.audit_head.c.seq, schema.audit_head.c.hash).where(schema.audit_head.c.id == 1)
_locked_head = _head.add_columns(now().label("at")).with_for_update()
_insert = sa.insert(schema.audit)
_move_head = sa.update(schema.audit_head).where(schema.audit_head.c.id == 1)
_records = sa.select(*(schema.audit.c[name] for name in Record.__slots__)).order_by(schema.audit.c.seq)


def lock_end(connection: Connection) -> sa.Row[tuple[int, str, int]]:
    """The end of the chain, locked until this transaction ends."""
    end = connection.execute(_locked_head).one_or_none()
    if end is None:
        raise _head_is_missing()
    return end


def append(connection: Connection, *, actor: str, action: str, subject: str, reason: str, details: JsonObject) -> int:
    """Add a record inside the caller's transaction and return its number.

    The head row stays locked until the caller commits, and every other appender waits for it: take this lock
    late. The order of locks everywhere is tenant → the caller's bindings → operation → steps → claims and nodes →
    audit head → stream.
    """
    end = lock_end(connection)
    text = _bounded(details)
    record = Record(
        end.seq + 1,
        end.at,
        cut(actor, LONGEST_ACTOR),
        action,
        cut(subject, LONGEST_SUBJECT),
        cut(reason, LONGEST_REASON),
        text,
        tenant_of(text),
        previous=end.hash,
        hash="",
    )
    record = replace(record, hash=record.seal())
    connection.execute(_insert, {name: getattr(record, name) for name in Record.__slots__})
    connection.execute(_move_head, {"seq": record.seq, "hash": record.hash})
    return record.seq


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _bounded(details: JsonObject) -> str:
    text = canonical(details)
    if len(text) <= LONGEST_DETAILS:
        return text
    sizes = {name: len(canonical(value)) for name, value in details.items()}
    short = {name: value for name, value in details.items() if sizes[name] <= LONGEST_VALUE}
    return canonical(short | {name: f"(cut: {n} characters)" for name, n in sizes.items() if n > LONGEST_VALUE})


def head(connection: Connection) -> Head:
    """The end of the chain according to the head row; ``verify`` checks whether that is true."""
    row = connection.execute(_head).one_or_none()
    if row is None or type(row.seq) is not int:
        raise _head_is_missing()
    return Head(row.seq, row.hash)


def matching(**values: str | None) -> list[sa.ColumnElement[bool]]:
    """Conditions for records with these columns; None matches any."""
    return [schema.audit.c[name] == value for name, value in values.items() if value is not None]


def since(instant: int | None) -> list[sa.ColumnElement[bool]]:
    """Conditions for records from an instant on; also by number, the sort key, so that a list stops reading there."""
    if instant is None:
        return []
    first = sa.select(sa.func.min(schema.audit.c.seq)).where(schema.audit.c.at >= instant).scalar_subquery()
    return [schema.audit.c.at >= instant, schema.audit.c.seq >= first]


def page(
    connection: Connection, visible: Visible, filters: Sequence[sa.ColumnElement[bool]], window: Window
) -> ListPage:
    query = sa.select(schema.audit).where(visible_to(visible, schema.audit.c.tenant), *filters)
    return fetch(connection, query, window, SORTS, schema.audit.c.seq)


def verify(connection: Connection, anchor: Anchor | None = None) -> Head:
    """Check every record in one snapshot (``Database.read``); raises AuditBroken with the first that is broken."""
    end = head(connection)
    good = Head(0, GENESIS)
    _check(good, end, anchor)
    with connection.execute(_records, execution_options={"yield_per": BATCH}) as rows:
        for row in rows:
            record = Record(*row)
            if record.seq != good.seq + 1 or record.previous != good.hash or not record.is_sealed():
                raise _diagnose(connection, good, record, end)
            good = Head(record.seq, record.hash)
            _check(good, end, anchor)
    _check_length(good, end, anchor)
    return good


def _check(good: Head, end: Head, anchor: Anchor | None) -> None:
    """Compare an intact record with the head row and the anchor."""
    if good.seq == end.seq and good.hash != end.hash:
        raise _broken(
            good.seq,
            "head changed",
            f"the head row seals record {good.seq} with {end.hash}, but it has {good.hash}: "
            "either the head row was changed, or the record was changed and sealed again",
        )
    if good.seq > end.seq:
        what = "inserted" if good.seq else "head changed"
        finding = f"record {good.seq} comes after the end, which the head row puts at {end.seq}"
        raise _broken(good.seq, what, finding)
    if anchor is not None and anchor[0] == good.seq and anchor[1] != good.hash:
        raise _broken(
            good.seq,
            "rewritten",
            f"record {good.seq} is sealed with {good.hash}, but the anchor kept elsewhere says {anchor[1]}: "
            f"the chain was rewritten at record {good.seq} or before",
        )


def _check_length(good: Head, end: Head, anchor: Anchor | None) -> None:
    n = good.seq + 1
    if n <= end.seq:
        what = "head changed" if good.hash == end.hash else "cut off"
        raise _broken(n, what, f"record {n} is missing: the head row says that there are {end.seq}")
    if anchor is not None and n <= anchor[0]:
        raise _broken(n, "cut off", f"record {n} is missing: the anchor kept elsewhere names record {anchor[0]}")


def _diagnose(connection: Connection, good: Head, record: Record, end: Head) -> AuditBroken:
    """The error that says what happened to the record after ``good``, where ``record`` now is."""
    n = good.seq + 1
    if type(record.seq) is not int or record.seq < n:
        return _broken(record.seq, "inserted", f"record {record.seq} stands where no record can, before {n}")
    now_at = _find_successor(connection, good)
    sealed_as = _original_number(record, now_at)
    if now_at is not None:
        made_room = record.seq == n and sealed_as in (None, n)
        return _inserted(n, now_at) if made_room else _reordered(n, now_at)
    if record.seq > n:
        return _broken(n, "removed", f"record {n} is missing: after {good.seq} comes {record.seq}")
    if sealed_as == n:
        return _wrong_link(connection, good, record, end)
    return _wrong_contents(n, sealed_as)


def _wrong_contents(n: int, sealed_as: int | None) -> AuditBroken:
    if sealed_as is None:
        return _broken(n, "changed", f"record {n} is not what was sealed with its hash")
    if sealed_as < n:
        return _inserted(sealed_as, n)
    return _broken(n, "removed", f"record {n} is missing: in its place stands what was sealed as {sealed_as}")


def _inserted(n: int, now_at: int) -> AuditBroken:
    return _broken(n, "inserted", f"record {n} was put in: what was sealed as {n} now stands at {now_at}")


def _reordered(n: int, now_at: int) -> AuditBroken:
    return _broken(n, "reordered", f"record {n} was moved: it now stands at {now_at}")


def _wrong_link(connection: Connection, good: Head, record: Record, end: Head) -> AuditBroken:
    """``record`` is intact but names another predecessor. If its own successor names it, the predecessor is forged."""
    n = record.seq
    follower = connection.scalar(sa.select(schema.audit.c.previous).where(schema.audit.c.seq == n + 1))
    if record.hash in (follower, end.hash) and good.seq > 0:
        finding = f"record {good.seq} was changed and sealed again: record {n} still names the old hash"
        return _broken(good.seq, "changed", finding)
    if n > end.seq:
        return _broken(n, "inserted", f"record {n} was put in at the end: it names another predecessor")
    return _broken(n, "changed", f"record {n} was changed and sealed again: it names another predecessor")


def _find_successor(connection: Connection, good: Head) -> int | None:
    """The number of the genuine successor of ``good``, if it is not the next one."""
    candidates = _records.where(schema.audit.c.previous == good.hash, schema.audit.c.seq != good.seq + 1)
    for row in connection.execute(candidates):
        record = Record(*row)
        if replace(record, seq=good.seq + 1).is_sealed():
            return record.seq
    return None


def _original_number(record: Record, now_at: int | None) -> int | None:
    """The number with which a record's hash is correct, searched nearby; None if there is none."""
    if record.is_sealed():
        return record.seq
    nearby = range(record.seq - NEIGHBOURHOOD, record.seq + NEIGHBOURHOOD)
    candidates = nearby if now_at is None else (now_at, *nearby)
    return next((n for n in candidates if replace(record, seq=n).is_sealed()), None)


def _head_is_missing() -> AuditBroken:
    return _broken(0, "head changed", "the head row is gone or holds no number")


def _broken(seq: int, what: str, finding: str) -> AuditBroken:
    return AuditBroken(
        f"the audit chain is broken: {finding}; keep this database as evidence, "
        "compare it with the last good backup and ask who had write access",
        seq=seq,
        what=what,
    )
