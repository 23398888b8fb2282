"""Idempotency keys: a repeated request is one change, and gets the first answer again."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import IdempotencyKeyReused
from canton.domain.json_types import JsonObject
from canton.store.database import SECOND, insert_new, now
from canton.store.schema import idempotency

# A client that lost the answer repeats within minutes; a week also covers a pipeline that is run again by hand.
REMEMBERED = 7 * 24 * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of a request: the operation that it started, or its answer."""

    request: str
    operation: str | None
    answer: JsonObject | None


def find(connection: Connection, actor: str, key: str) -> Remembered | None:
    row = connection.execute(
        sa.select(idempotency.c.request, idempotency.c.operation, idempotency.c.answer).where(*_is(actor, key))
    ).one_or_none()
    return None if row is None else Remembered(*row)


def repeated(connection: Connection, actor: str, key: str, request: str) -> Remembered | None:
    """The result of the same request, None if it is new; raises if the key was used for another request."""
    remembered = find(connection, actor, key)
    if remembered is not None and remembered.request != request:
        belongs = (
            f"belongs to operation {remembered.operation}, which"
            if remembered.operation
            else "belongs to a change that"
        )
        raise IdempotencyKeyReused(
            f'the idempotency key "{key}" {belongs} was asked for with another request; '
            "use a fresh key for a new request",
            key=key,
            operation=remembered.operation,
        )
    return remembered


def begin(connection: Connection, actor: str, key: str, request: str) -> bool:
    """Take the key, before anything else: a concurrent equal request waits here. False if it is taken."""
    row = {"actor": actor, "key": key, "request": request}
    return insert_new(connection, idempotency, [row], created_at=now()) == 1


def finish(
    connection: Connection, actor: str, key: str, *, operation: str | None = None, answer: JsonObject | None = None
) -> None:
    """Store the result, in the transaction that took the key."""
    connection.execute(sa.update(idempotency).where(*_is(actor, key)).values(operation=operation, answer=answer))


def forget_old(connection: Connection) -> int:
    """Delete keys older than a week; returns how many."""
    return connection.execute(sa.delete(idempotency).where(idempotency.c.created_at < now() - REMEMBERED)).rowcount


def _is(actor: str, key: str) -> tuple[sa.ColumnElement[bool], ...]:
    return idempotency.c.actor == actor, idempotency.c.key == key
