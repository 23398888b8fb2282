"""The checks of ``canton db check``: each returns what it found to be in order, or raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection

from canton.domain.errors import CantonError, InvariantBroken, NeedsHuman, SchemaMismatch
from canton.store import audit, schema
from canton.store.database import Database
from canton.store.maintenance import migrate, write_probe

# The oldest release that PostgreSQL itself still supports, and Canton's tests run on.
OLDEST_POSTGRESQL = 14
# Seconds, as a change of the API.
LOCK_WAIT = 3.0
# The triggers that refuse changes of records, by name.
GUARDS = {
    "postgresql": {"audit_refuses", "event_refuses", "plan_refuses"},
    "sqlite": {
        "audit_refuses_update",
        "audit_refuses_delete",
        "audit_refuses_replace",
        "event_refuses_update",
        "plan_refuses_update",
    },
}
_GUARDS_FOUND = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}

Check: TypeAlias = Callable[[Database], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check. If it is not ``ok``, the message also says what to do next."""

    check: str
    ok: bool
    message: str


def examine(database: Database) -> Iterator[Finding]:
    """Run every check, the cheap ones first. Without its tables the remaining checks are skipped."""
    checks = {"answers": _answers, "revision": _revision, "tables": _tables, "guards": _guards}
    checks |= _ON_POSTGRESQL if database.is_postgresql else _ON_SQLITE
    good = True
    for name, check in (checks | {"audit": _audit, "writes": _writes}).items():
        if check is _writes and not good:
            # A damaged database is not written to.
            return
        try:
            finding = Finding(name, ok=True, message=check(database))
        except CantonError as error:
            finding = Finding(name, ok=False, message=error.with_cause)
        except sa.exc.DBAPIError as error:
            finding = Finding(name, ok=False, message=f"{error.orig}; see what the other checks found")
        yield finding
        good &= finding.ok
        if not finding.ok and check in (_answers, _revision):
            return


def differences(connection: Connection) -> list[str]:
    """The differences between the tables and ``schema``; check constraints are added, which Alembic leaves out."""
    options = {"compare_type": True, "compare_server_default": True}
    context = MigrationContext.configure(connection, opts=options)
    table_differences = [_describe(difference) for difference in compare_metadata(context, schema.metadata)]
    return table_differences + [
        text for table in schema.metadata.sorted_tables for text in _rule_differences(connection, table)
    ]


def _rule_differences(connection: Connection, table: sa.Table) -> Iterator[str]:
    inspector = sa.inspect(connection)
    if not inspector.has_table(table.name):
        return
    declared = {str(rule.name) for rule in table.constraints if isinstance(rule, sa.CheckConstraint)}
    existing = {str(rule["name"]) for rule in inspector.get_check_constraints(table.name)}
    yield from (f"add_rule {name}" for name in sorted(declared - existing))
    yield from (f"remove_rule {name}" for name in sorted(existing - declared))


def _describe(difference: Any) -> str:
    if isinstance(difference, list):
        return ", ".join(map(_describe, difference))
    action, *objects = difference
    names = (part if isinstance(part, str) else getattr(part, "name", None) for part in objects)
    return " ".join([action, *(str(name) for name in names if name)])


def _answers(database: Database) -> str:
    with database.read() as connection:
        connection.execute(sa.select(1))
    return database.address


def _revision(database: Database) -> str:
    pending = migrate.require_current(database)
    waiting = f"; after the roll-out, run: canton db upgrade ({', '.join(pending)})" if pending else ""
    return f"{migrate.current(database)}{waiting}"


def _tables(database: Database) -> str:
    if migrate.require_current(database):
        return "not compared before the last revisions are applied"
    with database.read() as connection:
        table_differences = differences(connection)
    if table_differences:
        raise SchemaMismatch(
            f"not as declared; to make them so: {'; '.join(table_differences)}; "
            "find out who changed them, or restore a backup"
        )
    return f"{len(schema.metadata.tables)} as declared"


def _guards(database: Database) -> str:
    dialect = database.engine.dialect.name
    with database.read() as connection:
        existing = set(connection.exec_driver_sql(_GUARDS_FOUND[dialect]).scalars())
    missing = sorted(GUARDS[dialect] - existing)
    if missing:
        raise SchemaMismatch(
            f"missing or off: {', '.join(missing)}; find out who did that, verify the audit and restore a backup"
        )
    return "records cannot be changed"


def _integrity(database: Database) -> str:
    with database.read() as connection:
        lines = connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars().all()
    if lines != ["ok"]:
        raise NeedsHuman(f"{'; '.join(map(str, lines))}; stop Canton and restore the last good backup")
    return "no damage found"


def _foreign_keys(database: Database) -> str:
    with database.read() as connection:
        if connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() != 1:
            raise InvariantBroken("foreign keys are not enforced: this SQLite was built without them; use another")
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if broken:
        rows = ", ".join(f"{row[0]} row {row[1]} → {row[2]}" for row in broken[:5])
        raise InvariantBroken(f"{len(broken)} rows refer to something that is gone: {rows}; restore a backup")
    return "enforced, none broken"


def _wal(database: Database) -> str:
    with database.read() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        raise NeedsHuman(f"the journal mode is {mode}, not wal; is the file on a local disk, and writable?")
    return "on"


def _server_version(database: Database) -> str:
    with database.read() as connection:
        number = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
        text = connection.exec_driver_sql("SHOW server_version").scalar_one()
    if number < OLDEST_POSTGRESQL * 10_000:
        raise NeedsHuman(f"PostgreSQL {text} is too old; move to {OLDEST_POSTGRESQL} or newer")
    return f"PostgreSQL {text}"


def _audit(database: Database) -> str:
    with database.read() as connection:
        head = audit.verify(connection)
    return f"chain intact: {head.seq} records, head {head}"


def _writes(database: Database) -> str:
    """Check that the database takes writes: only this finds a full disk or a read-only database."""
    with database.write(LOCK_WAIT) as connection:
        write_probe.touch(connection)
    return "taken"


_ON_POSTGRESQL: dict[str, Check] = {"server": _server_version}
_ON_SQLITE: dict[str, Check] = {"integrity": _integrity, "foreign keys": _foreign_keys, "wal": _wal}
