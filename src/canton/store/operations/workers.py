"""Workers that are, or were, alive."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.store.database import SECOND, now
from canton.store.schema import worker

# How long a worker that died stays in the table.
REMEMBERED = 24 * 3600 * SECOND


def arrive(connection: Connection, identity: str, host: str, pid: int) -> None:
    """Register a worker; delete those without a heartbeat for a day."""
    connection.execute(sa.delete(worker).where(worker.c.seen_at < now() - REMEMBERED))
    connection.execute(sa.insert(worker).values(id=identity, host=host, pid=pid, started_at=now(), seen_at=now()))


def beat(connection: Connection, identity: str) -> None:
    connection.execute(sa.update(worker).where(worker.c.id == identity).values(seen_at=now()))


def leave(connection: Connection, identity: str) -> None:
    connection.execute(sa.delete(worker).where(worker.c.id == identity))


def alive(connection: Connection, within: float) -> int:
    """The number of workers with a heartbeat within ``within`` seconds."""
    recently = worker.c.seen_at >= now() - int(within * SECOND)
    return connection.scalar(sa.select(sa.func.count()).select_from(worker).where(recently)) or 0
