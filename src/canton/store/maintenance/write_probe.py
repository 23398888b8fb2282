"""A write that changes nothing but its own row: whether the disk has room and the database takes changes.

It locks the end of the audit chain, as every change does: while another session holds that lock, no change is possible.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.store import audit
from canton.store.database import insert_new, now
from canton.store.schema import write_probe

_touch = sa.update(write_probe).where(write_probe.c.id == 1).values(seen_at=now())


def touch(connection: Connection) -> None:
    audit.lock_end(connection)
    if connection.execute(_touch).rowcount == 0:
        insert_new(connection, write_probe, [{"id": 1}], seen_at=now())
