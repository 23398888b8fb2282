"""Workers that are, or were, alive."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.store.database import now
from canton.store.schema import worker


def arrive(connection: Connection, identity: str, host: str, pid: int) -> None:
    connection.execute(sa.insert(worker).values(id=identity, host=host, pid=pid, started_at=now(), seen_at=now()))


def beat(connection: Connection, identity: str) -> None:
    connection.execute(sa.update(worker).where(worker.c.id == identity).values(seen_at=now()))


def leave(connection: Connection, identity: str) -> None:
    connection.execute(sa.delete(worker).where(worker.c.id == identity))
