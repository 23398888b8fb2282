"""Idempotency keys: the same request twice is one operation."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.store.database import insert_new, now
from canton.store.schema import idempotency


@dataclass(frozen=True, slots=True)
class Remembered:
    request: str
    operation: str


def find(connection: Connection, actor: str, key: str) -> Remembered | None:
    row = connection.execute(
        sa.select(idempotency.c.request, idempotency.c.operation).where(
            idempotency.c.actor == actor, idempotency.c.key == key
        )
    ).one_or_none()
    return None if row is None else Remembered(*row)


def remember(connection: Connection, actor: str, key: str, request: str, operation_id: str) -> bool:
    """False when somebody else stored the same key first."""
    row = {"actor": actor, "key": key, "request": request, "operation": operation_id}
    return insert_new(connection, idempotency, [row], created_at=now()) == 1
