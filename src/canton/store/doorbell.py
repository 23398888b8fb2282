"""The doorbell: wakes a waiting worker when there is new work, without polling the database."""

from __future__ import annotations

import time
from typing import Protocol

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import DatabaseUnavailable
from canton.store.database import Database, libpq_arguments

CHANNEL = "canton_work"
# SQLite has no notifications; reading the change counter of the open file costs microseconds and no query.
SQLITE_GLANCE = 0.05


def ring(connection: Connection) -> None:
    """Wake the workers when, and only if, this transaction commits."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_notify(CHANNEL, "")))


class Doorbell(Protocol):
    """Blocking; made, used and closed in one thread at a time."""

    def wait(self, seconds: float) -> bool:
        """True as soon as the bell rings, False after ``seconds``."""

    def close(self) -> None: ...


def listen(database: Database) -> Doorbell:
    return PostgresqlDoorbell(database) if database.is_postgresql else SqliteDoorbell(database)


class PostgresqlDoorbell:
    """One listening connection of its own."""

    def __init__(self, database: Database) -> None:
        try:
            self.connection = psycopg.connect(**libpq_arguments(database), autocommit=True)
            self.connection.execute(f"LISTEN {CHANNEL}")
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable("cannot listen for work", cause=str(error)) from error

    def wait(self, seconds: float) -> bool:
        try:
            return any(True for _ in self.connection.notifies(timeout=seconds, stop_after=1))
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable("the connection that listens for work was cut", cause=str(error)) from error

    def close(self) -> None:
        self.connection.close()


class SqliteDoorbell:
    """``PRAGMA data_version`` changes when another connection has committed."""

    def __init__(self, database: Database) -> None:
        self.connection = database.engine.raw_connection()
        self.last_version = self._version()

    def wait(self, seconds: float) -> bool:
        # Sleep first: our own commits ring too, and must not make a busy worker query all the time.
        until = time.monotonic() + seconds
        while (seconds_left := until - time.monotonic()) > 0:
            time.sleep(min(SQLITE_GLANCE, seconds_left))
            if self.last_version != (version := self._version()):
                self.last_version = version
                return True
        return False

    def close(self) -> None:
        self.connection.close()

    def _version(self) -> int:
        cursor = self.connection.cursor()
        cursor.execute("PRAGMA data_version")
        row = cursor.fetchone()
        cursor.close()
        return int(row[0]) if row else 0
