"""Keys are stored for as long as a client may repeat a request, and no longer."""

from __future__ import annotations

import asyncio
import time

import sqlalchemy as sa

from canton.operations.engine.worker import Worker
from canton.store import idempotency
from canton.store.database import Database, now
from canton.store.schema import idempotency as table


def keys(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.scalars(sa.select(table.c.key).order_by(table.c.key)))


def wait_for_one_key(database: Database) -> None:
    deadline = time.monotonic() + 30
    while len(keys(database)) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_worker_deletes_expired_keys(database: Database) -> None:
    with database.write() as connection:
        for key in ("fresh", "old"):
            assert idempotency.begin(connection, "cscs:alice", key, "sha256:0")
        aged = sa.update(table).where(table.c.key == "old").values(created_at=now() - idempotency.REMEMBERED - 1)
        connection.execute(aged)

    async def work() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(Worker(database, {}).run(stop))
        await asyncio.to_thread(wait_for_one_key, database)
        stop.set()
        await running

    asyncio.run(work())
    assert keys(database) == ["fresh"]
