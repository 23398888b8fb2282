"""Connects to the database: the only module that distinguishes SQLite and PostgreSQL connections.

``Database.write`` is a transaction, ``Database.read`` a consistent snapshot. Driver errors of a database that does not
answer are raised as ``DatabaseUnavailable``.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import make_conninfo
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from canton.domain.database_address import HIDDEN, hide_addresses, without_secrets
from canton.domain.errors import DatabaseUnavailable, InvalidSetting, NeedsHuman

Clock = Callable[[], int]
SECOND = 1_000_000
# A healthy transaction is over in milliseconds. A process frozen inside one would keep its row locks, and a
# successor out, for as long as it sleeps: PostgreSQL ends such a session after this time.
IDLE_IN_TRANSACTION = 5.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds a statement waits for a lock, and may take altogether; None is without limit.

    On SQLite only ``lock`` has an effect: the wait for its single writer.
    """

    lock: float | None = None
    statement: float | None = None


# For commands on the server: a migration or a backup may take as long as it needs.
UNBOUNDED = Timeouts()
# For an API server. A change holds its locks for milliseconds; if one does not, other requests get 503.
SERVING = Timeouts(lock=3.0, statement=15.0)
# For a worker. Longer than IDLE_IN_TRANSACTION, so that PostgreSQL ends the session of a frozen predecessor first.
WORKING = Timeouts(lock=10.0, statement=60.0)
# lock_not_available, query_canceled (by statement_timeout), deadlock_detected.
_BUSY = frozenset({"55P03", "57014", "40P01"})


def system_clock() -> int:
    return time.time_ns() // 1000


class now(FunctionElement[int]):  # noqa: N801  # reads as the SQL function it is
    """The database's own clock, in microseconds: all workers on PostgreSQL share it."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(now, "postgresql")
def _now_on_postgresql(*_: object, **__: object) -> str:
    # Not clock_timestamp(): that one is volatile, and the planner would not use an index with it.
    return "(extract(epoch from statement_timestamp()) * 1000000)::bigint"


@compiles(now, "sqlite")
def _now_on_sqlite(*_: object, **__: object) -> str:
    return "canton_now()"


class Database:
    """An open database; constructed in ``wiring`` or in a test."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_postgresql = engine.dialect.name == "postgresql"

    @contextmanager
    def write(self, lock_wait: float | None = None) -> Iterator[Connection]:
        """A transaction that commits when the block ends and rolls back when it raises.

        With ``lock_wait``, its statements wait at most that many seconds for a lock, instead of ``Timeouts.lock``.
        """
        with foreign_errors_stop_here(self.engine), self.engine.connect() as connection:
            connection.execution_options(canton_lock_wait=lock_wait)
            with connection.begin():
                if self.is_postgresql and lock_wait is not None:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_wait * 1000)}")
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction on one consistent snapshot."""
        with foreign_errors_stop_here(self.engine), self.engine.connect() as connection:
            options = {"isolation_level": "REPEATABLE READ"} if self.is_postgresql else {"canton_read": True}
            with connection.execution_options(**options, postgresql_readonly=True).begin():
                yield connection

    @property
    def address(self) -> str:
        """The database URL without secrets, for the server's log and command line."""
        return without_secrets(self.engine.url.render_as_string(hide_password=True))

    def close(self) -> None:
        self.engine.dispose()


def open_database(
    url: str | URL,
    clock: Clock = system_clock,
    idle_in_transaction: float = IDLE_IN_TRANSACTION,
    waits: Timeouts = UNBOUNDED,
) -> Database:
    """Open ``sqlite:///path`` or ``postgresql://…``; nothing is created or changed by opening."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return Database(_sqlite(parsed, clock, waits))
    return Database(_postgresql(parsed, idle_in_transaction, waits))


def _parse(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Not chained: what SQLAlchemy says quotes the address, and with it the password.
        raise _not_an_address() from None
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise InvalidSetting(
            f'the database "{backend}" is not supported; use sqlite:///path or postgresql://user@host/name',
            found=backend,
        )
    return parsed


def _not_an_address() -> InvalidSetting:
    return InvalidSetting(
        "the database address is not a URL that can be used; write sqlite:///path/to/canton.db or "
        "postgresql://user@host:port/name; several hosts are postgresql://user@/name?host=one:5432&host=two:5432"
    )


def _sqlite(url: URL, clock: Clock, waits: Timeouts) -> Engine:
    # Python would keep the last 128 statements of every connection prepared. A list of names has a parameter for each,
    # so that every length of it is another statement, of some megabytes for thousands of names; a caller chooses it.
    # To prepare a statement anew takes SQLite some ten microseconds.
    engine = sa.create_engine(url, connect_args={"timeout": waits.lock or 30.0, "cached_statements": 0})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        # Canton says BEGIN itself (below): the driver's own guess would start write transactions too late.
        connection.isolation_level = None
        connection.create_function("canton_now", 0, clock)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE queues for the one writer's place: a reader that turns writer late would be refused.
        options = connection.get_execution_options()
        read_only = bool(options.get("canton_read"))
        lock_wait = options.get("canton_lock_wait") or waits.lock or 30.0
        cursor = connection.connection.cursor()
        cursor.execute(f"PRAGMA query_only = {read_only:d}")
        cursor.execute(f"PRAGMA busy_timeout = {int(lock_wait * 1000)}")
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _postgresql(url: URL, idle_in_transaction: float, waits: Timeouts) -> Engine:
    limits = {
        "idle_in_transaction_session_timeout": idle_in_transaction,
        "lock_timeout": waits.lock,
        "statement_timeout": waits.statement,
    }
    arguments: dict[str, Any] = {
        "application_name": "canton",
        "connect_timeout": 5,
        "options": " ".join(f"-c {name}={int((seconds or 0) * 1000)}" for name, seconds in limits.items()),
    }
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=arguments,
            pool_size=8,
            max_overflow=8,
            pool_pre_ping=False,
        )
    except sa.exc.ArgumentError:
        raise _not_an_address() from None
    try:
        make_conninfo("", **_libpq_arguments(engine))
    except psycopg.ProgrammingError:
        # The message names neither the option nor its value: either may be a password.
        raise InvalidSetting(
            'the database address has an option behind the "?" that PostgreSQL does not know; correct its name, as in '
            "sslmode=require"
        ) from None
    return engine


def insert_new(connection: Connection, table: sa.Table, rows: list[dict[str, Any]], **values: Any) -> int:
    """Insert the rows whose key does not exist yet; returns how many were inserted."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    stamped: list[dict[str, Any]] = [row | values for row in rows]
    key = next(iter(table.primary_key.columns))
    insert = dialect.insert(table).values(stamped).on_conflict_do_nothing().returning(key)
    return len(connection.execute(insert).all())


def libpq_arguments(database: Database) -> dict[str, Any]:
    """The PostgreSQL address for a connection outside the pool; as a URL, libpq refuses a space in a password."""
    return _libpq_arguments(database.engine)


def _libpq_arguments(engine: Engine) -> dict[str, Any]:
    _, arguments = engine.dialect.create_connect_args(engine.url)
    return {name: value for name, value in arguments.items() if name != "context"}


@contextmanager
def foreign_errors_stop_here(engine: Engine) -> Iterator[None]:
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.InternalError) as error:
        if _is_busy(error):
            raise DatabaseUnavailable(
                "the database is busy: another session holds what this needs, or it took too long; try again shortly",
                cause=_cause(engine, error),
            ) from error
        if _is_unreachable(error):
            raise DatabaseUnavailable(
                "the database cannot be reached; try again; if that does not help, check on the server that it runs "
                "and that its address is right",
                cause=_cause(engine, error),
            ) from error
        raise DatabaseUnavailable(
            "the database did not carry out a statement; try again; the server's log says why, and `canton db check` "
            "on the server whether it runs and has space",
            cause=_cause(engine, error),
        ) from error
    except sa.exc.DatabaseError as error:
        # Of the branches of this class, only SQLite's "malformed" and "not a database" have none of their own.
        if type(error) is not sa.exc.DatabaseError:
            raise
        raise NeedsHuman(
            "the database cannot be read; keep its file and restore the last backup", cause=_cause(engine, error)
        ) from error
    except sa.exc.TimeoutError as error:
        raise DatabaseUnavailable("no database connection became free in time; try again") from error


def _is_busy(error: sa.exc.DBAPIError) -> bool:
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    return getattr(error.orig, "sqlstate", None) in _BUSY or name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_unreachable(error: sa.exc.DBAPIError) -> bool:
    """Whether there is no connection. SQLite has no statement either when a commit finds the disk full."""
    name = getattr(error.orig, "sqlite_errorname", None)
    return name == "SQLITE_CANTOPEN" if name else error.statement is None and not getattr(error.orig, "sqlstate", None)


def _cause(engine: Engine, error: sa.exc.DBAPIError) -> str:
    address = without_secrets(engine.url.render_as_string(hide_password=True))
    if address.endswith(f"://{HIDDEN}"):
        # What the driver takes for the host may be the end of a password that holds an unescaped @.
        return f"{address}: it cannot be read for certain; in a password, write @ as %40, / as %2F and ? as %3F"
    message = " ".join(str(error.orig).split())
    return f"{address}: {hide_addresses(message)}"
