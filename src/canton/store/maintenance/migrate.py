"""Bring a database to the schema this code works with, and refuse to work with any other.

A roll-out without downtime is three commands: ``canton db upgrade --phase pre``, the new code, ``canton db
upgrade``. So code runs while *post* revisions are still to come, but never while a *pre* one is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from canton.domain.errors import SchemaMismatch
from canton.store.database import Database, foreign_errors_stop_here

MIGRATIONS = Path(__file__).parents[1] / "migrations"
# Any number will do, as long as nothing else in the same PostgreSQL database uses it: "canton" in ASCII.
UPGRADE_LOCK = 0x63616E746F6E
NAME = re.compile(r"(?P<number>\d{4})_(?P<phase>pre|post)_[a-z0-9_]+")

Phase: TypeAlias = Literal["all", "pre"]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The revisions before and after an upgrade; ``held_back`` is the first that has to wait for the new code."""

    before: str | None
    after: str | None
    held_back: str | None = None


def upgrade(database: Database, phase: Phase = "all", directory: Path = MIGRATIONS) -> Upgrade:
    """Apply the pending revisions, all or none; concurrent upgrades wait for each other."""
    all_revisions = revisions(directory)
    with _alone(database) as connection:
        current_revision = _current(connection)
        pending = _pending(connection, current_revision, all_revisions)
        to_apply = pending if phase == "all" else _leading_pre(pending)
        held_back = pending[len(to_apply)] if len(to_apply) < len(pending) else None
        if not to_apply:
            return Upgrade(current_revision, current_revision, held_back)
        _apply(connection, to_apply[-1], directory)
        return Upgrade(current_revision, to_apply[-1], held_back)


def current(database: Database) -> str | None:
    """The revision of the database; None if Canton never created it."""
    with database.read() as connection:
        return _current(connection)


def head(directory: Path = MIGRATIONS) -> str:
    """The revision that this code was written for."""
    return revisions(directory)[-1]


def revisions(directory: Path = MIGRATIONS) -> list[str]:
    """All revisions, oldest first."""
    scripts = ScriptDirectory.from_config(_config(directory)).walk_revisions()
    return [script.revision for script in scripts][::-1]


def phase_of(revision: str) -> str:
    """``pre`` or ``post``, as the name says."""
    match = NAME.fullmatch(revision)
    if match is None:
        raise SchemaMismatch(f'the revision "{revision}" is not called NNNN_pre_what or NNNN_post_what')
    return match["phase"]


def require_known(database: Database, directory: Path = MIGRATIONS) -> list[str]:
    """Refuse a database that is not Canton's or newer than this code; answers the revisions still to come."""
    with database.read() as connection:
        at = _current(connection)
        pending = _pending(connection, at, revisions(directory))
        if at is None:
            where = _where(connection)
            raise SchemaMismatch(f"the database {where} is empty; create the tables with: canton db upgrade")
    return pending


def require_current(database: Database, directory: Path = MIGRATIONS) -> list[str]:
    """Refuse a database this code cannot work with; answers the *post* revisions still to come."""
    pending = require_known(database, directory)
    if any(phase_of(revision) == "pre" for revision in pending):
        raise SchemaMismatch(
            f"the database {database.address} lacks {', '.join(pending)}, which this Canton needs; "
            "run: canton db upgrade",
            wanted=pending,
        )
    return pending


def _leading_pre(pending: list[str]) -> list[str]:
    posts = (n for n, revision in enumerate(pending) if phase_of(revision) == "post")
    return pending[: next(posts, len(pending))]


def _pending(connection: Connection, at: str | None, all_revisions: list[str]) -> list[str]:
    where = _where(connection)
    if at is None:
        tables = sorted(sa.inspect(connection).get_table_names())
        if tables:
            raise SchemaMismatch(
                f"the database {where} was not made by Canton: it holds {', '.join(tables[:3])}"
                f"{' …' if len(tables) > 3 else ''}; give Canton a database of its own",
                found=tables,
            )
        return all_revisions
    if at in all_revisions:
        return all_revisions[all_revisions.index(at) + 1 :]
    match = NAME.fullmatch(at)
    if match and match["number"] > all_revisions[-1][:4]:
        raise SchemaMismatch(
            f"the database {where} is at {at}, newer than this Canton, which knows {all_revisions[-1]}; "
            "run the Canton that upgraded it, or a later one",
            found=at,
            wanted=all_revisions[-1],
        )
    raise SchemaMismatch(
        f'the database {where} is at "{at}", a revision that no release of Canton up to {all_revisions[-1]} has; '
        "restore a backup, or run the Canton that made it",
        found=at,
        wanted=all_revisions[-1],
    )


def _apply(connection: Connection, target: str, directory: Path) -> None:
    config = _config(directory)
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, target)
        _check_foreign_keys(connection)
    except sa.exc.DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise SchemaMismatch(
            f"the database {_where(connection)} could not be brought to {target}: {error.orig}; "
            "nothing was changed; look at what stands in the way, then run: canton db upgrade",
            wanted=target,
        ) from error


@contextmanager
def _alone(database: Database) -> Iterator[Connection]:
    """A transaction for changing the schema, one at a time."""
    if database.is_postgresql:
        with database.write() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
            yield connection
        return
    # SQLite changes most things by building the table anew. With foreign keys on, dropping the old one would
    # delete what refers to it; and the switch does nothing inside a transaction, so it comes before BEGIN.
    with foreign_errors_stop_here(database.engine), database.engine.connect() as connection:
        cursor = connection.connection.cursor()
        cursor.execute("PRAGMA foreign_keys = OFF")
        try:
            with connection.begin():
                yield connection
        finally:
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.close()


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise SchemaMismatch(
                f"after the upgrade a row of {broken[0]} would refer to a row of {broken[2]} that is not there; "
                "nothing was changed",
                table=broken[0],
            )


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config(directory: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(directory).replace("%", "%%"))
    return config


def _where(connection: Connection) -> str:
    return Database(connection.engine).address
