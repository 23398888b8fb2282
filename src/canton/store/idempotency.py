"""Idempotency keys: the same request twice is one change, and the second caller gets the first one's answer."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.data import JsonObject
from canton.domain.errors import IdempotencyKeyReused
from canton.store.database import SECOND, insert_new, now
from canton.store.schema import idempotency

# A client that lost the answer asks again within minutes; a week also covers a pipeline that is run again by hand.
REMEMBERED = 7 * 24 * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Remembered:
    """What came of a request: the operation that it started, or the answer that it was given."""

    request: str
    operation: str | None
    answer: JsonObject | None


def find(connection: Connection, actor: str, key: str) -> Remembered | None:
    row = connection.execute(
        sa.select(idempotency.c.request, idempotency.c.operation, idempotency.c.answer).where(*_is(actor, key))
    ).one_or_none()
    return None if row is None else Remembered(*row)


def repeated(connection: Connection, actor: str, key: str, request: str) -> Remembered | None:
    """What came of the same request before; the same key with another request is a mistake."""
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
    """Take the key, before anything else: an equal request at the same moment waits here. False when it is taken."""
    row = {"actor": actor, "key": key, "request": request}
    return insert_new(connection, idempotency, [row], created_at=now()) == 1


def finish(
    connection: Connection, actor: str, key: str, *, operation: str | None = None, answer: JsonObject | None = None
) -> None:
    """Keep what came of it, in the transaction that took the key."""
    connection.execute(sa.update(idempotency).where(*_is(actor, key)).values(operation=operation, answer=answer))


def forget_old(connection: Connection) -> int:
    """Remove keys that nobody will repeat any more; answers how many."""
    return connection.execute(sa.delete(idempotency).where(idempotency.c.created_at < now() - REMEMBERED)).rowcount


def _is(actor: str, key: str) -> tuple[sa.ColumnElement[bool], ...]:
    return idempotency.c.actor == actor, idempotency.c.key == key
