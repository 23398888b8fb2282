"""Readings of a site: when one is due, and which worker makes it.

``due_at`` is both timer and lease: the worker that moves it to the next interval makes the reading. If it dies in the
middle, one reading is lost; any worker makes the next one.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.store.database import SECOND, insert_new, now
from canton.store.schema import site_reading

POWER = "power"


def seconds_until_due(connection: Connection, site: str, what: str, interval: float) -> float:
    """0 if it is due or was never made; at most the interval, also after a clock was set back."""
    query = sa.select(site_reading.c.due_at - now()).where(_row(site, what))
    return min(max((connection.scalar(query) or 0) / SECOND, 0.0), interval)


def take(connection: Connection, site: str, what: str, interval: float) -> int | None:
    """The database's time if the caller has to make the reading; None if it is not due or another worker makes it."""
    insert_new(connection, site_reading, [{"site": site, "what": what, "due_at": 0}])
    pause = int(interval * SECOND)
    due = sa.or_(site_reading.c.due_at <= now(), site_reading.c.due_at > now() + pause)
    update = sa.update(site_reading).where(_row(site, what), due).values(due_at=now() + pause)
    due_at = connection.scalar(update.returning(site_reading.c.due_at))
    return None if due_at is None else due_at - pause


def finish(connection: Connection, site: str, what: str, at: int) -> None:
    """Record that the reading that began at this time is complete."""
    connection.execute(sa.update(site_reading).where(_row(site, what)).values(read_at=at))


def _row(site: str, what: str) -> sa.ColumnElement[bool]:
    return sa.and_(site_reading.c.site == site, site_reading.c.what == what)
