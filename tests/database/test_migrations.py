from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import SchemaMismatch
from canton.store import audit, schema
from canton.store.database import Database, open_database
from canton.store.maintenance import database_checks, migrate
from canton.store.maintenance.migrate import Upgrade

REVISIONS = migrate.revisions()
REPOSITORY = Path(__file__).parents[2]


class Folder:
    """A migrations folder of the test's own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "versions").mkdir(parents=True)
        shutil.copy(migrate.MIGRATIONS / "env.py", path)

    def take(self, *revisions: str) -> Folder:
        """Use real revisions."""
        for name in revisions:
            shutil.copy(migrate.MIGRATIONS / "versions" / f"{name}.py", self.path / "versions")
        return self

    def add(self, name: str, body: str) -> Folder:
        """Add a revision after those that are there."""
        previous = max((path.stem for path in (self.path / "versions").glob("0*.py")), default=None)
        text = f"import sqlalchemy as sa\nfrom alembic import op\n\nrevision, down_revision = {name!r}, {previous!r}\n"
        text += "\n\ndef upgrade():\n" + indent(dedent(body).strip(), "    ") + "\n"
        (self.path / "versions" / f"{name}.py").write_text(text)
        return self


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "migrations")


def three_phases(folder: Folder) -> Path:
    for name in ("0001_pre_one", "0002_post_two", "0003_pre_three"):
        folder.add(name, f"op.create_table({name[-3:]!r}, sa.Column('id', sa.Integer(), primary_key=True))")
    return folder.path


def tables(database: Database) -> set[str]:
    with database.read() as connection:
        return set(sa.inspect(connection).get_table_names())


def write_revision(database: Database, revision: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")  # noqa: S608


def fill(connection: Connection) -> dict[str, dict[str, Any]]:
    """One row in every table of whatever revision this is, made up from its column types."""
    reflected = sa.MetaData()
    reflected.reflect(connection)
    rows: dict[str, dict[str, Any]] = {}
    for table in reflected.sorted_tables:
        if table.name in ("alembic_version", "audit_head"):
            continue
        row: dict[str, Any] = {}
        for column in table.columns:
            reference = next(iter(column.foreign_keys), None)
            row[column.name] = rows[reference.column.table.name][reference.column.name] if reference else value(column)
        connection.execute(sa.insert(table).values(row))
        rows[table.name] = row
    return rows


def value(column: sa.Column[Any]) -> object:
    if isinstance(column.type, sa.JSON):
        return {"kept": ["ü", 1, None]}
    if (column.table.name, column.name) == ("write_probe", "id"):
        return 1  # the only row that it may have
    return 7 if column.type.python_type is int else f"{column.table.name}.{column.name} ü"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_file_is_called_as_its_revision_and_says_its_phase(revision: str) -> None:
    assert (migrate.MIGRATIONS / "versions" / f"{revision}.py").is_file()
    assert migrate.NAME.fullmatch(revision)
    assert len(revision) <= 32, "Alembic's column holds no more"
    assert migrate.phase_of(revision) == revision.split("_")[1]


def test_revisions_are_numbered_one_after_the_other() -> None:
    assert [int(revision[:4]) for revision in REVISIONS] == list(range(1, len(REVISIONS) + 1))
    assert migrate.head() == REVISIONS[-1]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_stands_on_its_own(revision: str) -> None:
    """The schema changes; a revision that imported it would change with it."""
    text = (migrate.MIGRATIONS / "versions" / f"{revision}.py").read_text()
    assert not re.search(r"\bcanton\.|create_all", text)


@pytest.mark.parametrize("name", ["1_pre_x", "0001_x", "0001_during_x", "0001_pre_", "0001_PRE_x"])
def test_another_name_has_no_phase(name: str) -> None:
    with pytest.raises(SchemaMismatch, match="NNNN_pre_what"):
        migrate.phase_of(name)


@pytest.mark.parametrize("start", [None, *REVISIONS])
def test_every_revision_leads_to_the_declared_tables(
    empty_database: Database, folder: Folder, start: str | None
) -> None:
    if start is not None:
        until = REVISIONS[: REVISIONS.index(start) + 1]
        migrate.upgrade(empty_database, directory=folder.take(*until).path)
        assert migrate.current(empty_database) == start
    assert migrate.upgrade(empty_database) == Upgrade(start, REVISIONS[-1])
    assert migrate.current(empty_database) == REVISIONS[-1]
    with empty_database.read() as connection:
        assert database_checks.differences(connection) == []
    assert migrate.require_current(empty_database) == []
    assert [finding for finding in database_checks.examine(empty_database) if not finding.ok] == []


@pytest.mark.parametrize("start", REVISIONS)
def test_what_was_written_at_every_revision_survives(empty_database: Database, folder: Folder, start: str) -> None:
    until = REVISIONS[: REVISIONS.index(start) + 1]
    migrate.upgrade(empty_database, directory=folder.take(*until).path)
    with empty_database.write() as connection:
        rows_by_table = fill(connection)
    migrate.upgrade(empty_database)
    assert_kept(empty_database, rows_by_table)


def assert_kept(database: Database, rows_by_table: dict[str, dict[str, Any]]) -> None:
    """Every value is there, in every column that still exists."""
    assert rows_by_table
    with database.read() as connection:
        reflected = sa.MetaData()
        reflected.reflect(connection)
        for name, row in rows_by_table.items():
            table = reflected.tables[name]
            stored_row = connection.execute(sa.select(table)).one()._asdict()
            assert {key: stored_row[key] for key in row if key in table.c} == {
                key: row[key] for key in row if key in table.c
            }


def test_differences_name_tables_columns_and_indexes(database: Database) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE tenant ADD COLUMN motto VARCHAR")
        connection.exec_driver_sql("DROP INDEX ix_claim_operation")
        connection.exec_driver_sql("ALTER TABLE worker RENAME TO labourer")
    with database.read() as connection:
        differences = database_checks.differences(connection)
    assert "remove_column tenant motto" in differences
    assert "add_index ix_claim_operation" in differences
    assert "add_table worker" in differences
    assert "remove_table labourer" in differences


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_differences_name_types_defaults_and_rules(database: Database) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE step ALTER COLUMN n TYPE bigint")
        connection.exec_driver_sql("ALTER TABLE step ALTER COLUMN acts DROP DEFAULT")
        connection.exec_driver_sql("ALTER TABLE step ALTER COLUMN target DROP NOT NULL")
        connection.exec_driver_sql("ALTER TABLE audit_head DROP CONSTRAINT ck_audit_head_one_row")
    with database.read() as connection:
        differences = " / ".join(database_checks.differences(connection))
    for expected in ("modify_type step n", "modify_default step acts", "modify_nullable step target"):
        assert expected in differences
    assert "add_rule ck_audit_head_one_row" in differences


def test_the_first_record_follows_the_head_of_the_migration(database: Database) -> None:
    with database.read() as connection:
        assert audit.head(connection) == audit.Head(0, audit.GENESIS)


def test_a_plan_is_never_changed(database: Database) -> None:
    with database.write() as connection:
        connection.execute(sa.insert(schema.plan).values(digest="d", body="b", created_at=0))
    with pytest.raises(sa.exc.IntegrityError, match="plan refuses UPDATE"), database.write() as connection:
        connection.execute(sa.update(schema.plan).values(body="c"))


def test_phase_pre_stops_at_the_first_post(empty_database: Database, folder: Folder) -> None:
    directory = three_phases(folder)
    assert migrate.upgrade(empty_database, "pre", directory) == Upgrade(None, "0001_pre_one", "0002_post_two")
    assert migrate.upgrade(empty_database, "pre", directory) == Upgrade("0001_pre_one", "0001_pre_one", "0002_post_two")
    assert tables(empty_database) == {"alembic_version", "one"}
    assert migrate.upgrade(empty_database, "all", directory) == Upgrade("0001_pre_one", "0003_pre_three")
    assert migrate.upgrade(empty_database, "pre", directory) == Upgrade("0003_pre_three", "0003_pre_three")


def test_phase_pre_goes_on_after_the_post(empty_database: Database, folder: Folder) -> None:
    directory = three_phases(folder)
    last = directory / "versions" / "0003_pre_three.py"
    last.rename(directory / "later")
    migrate.upgrade(empty_database, "all", directory)
    (directory / "later").rename(last)
    assert migrate.upgrade(empty_database, "pre", directory) == Upgrade("0002_post_two", "0003_pre_three")


def test_code_runs_while_only_post_revisions_are_to_come(empty_database: Database, folder: Folder) -> None:
    directory = three_phases(folder)
    migrate.upgrade(empty_database, "pre", directory)
    with pytest.raises(SchemaMismatch, match=r"lacks 0002_post_two, 0003_pre_three.*run: canton db upgrade"):
        migrate.require_current(empty_database, directory)
    (directory / "versions" / "0003_pre_three.py").unlink()
    assert migrate.require_current(empty_database, directory) == ["0002_post_two"]


def test_an_empty_database_is_refused_with_what_to_do(empty_database: Database) -> None:
    assert migrate.current(empty_database) is None
    with pytest.raises(SchemaMismatch, match="is empty; create the tables with: canton db upgrade"):
        migrate.require_current(empty_database)


@pytest.mark.parametrize(
    ("revision", "says"),
    [
        ("9999_pre_future", "newer than this Canton.*run the Canton that upgraded it"),
        ("0000_pre_other", "that no release of Canton up to .* has"),
        ("3f2a9c", "that no release of Canton up to .* has"),
    ],
)
def test_a_database_of_another_canton_is_refused(database: Database, revision: str, says: str) -> None:
    write_revision(database, revision)
    for attempt in (migrate.require_current, migrate.require_known, migrate.upgrade):
        with pytest.raises(SchemaMismatch, match=says) as caught:
            attempt(database)
        assert caught.value.details["found"] == revision
    assert migrate.current(database) == revision


def test_a_database_of_something_else_is_refused(empty_database: Database) -> None:
    with empty_database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE wp_posts (id INTEGER)")
    for attempt in (migrate.require_current, migrate.upgrade):
        with pytest.raises(SchemaMismatch, match=r"was not made by Canton: it holds wp_posts; give Canton a database"):
            attempt(empty_database)
    assert tables(empty_database) == {"wp_posts"}


def test_a_password_is_not_shown(empty_database: Database, folder: Folder) -> None:
    """A reader of the log must not learn the password of the database."""
    folder.add("0001_pre_bad", "op.execute('SELECT * FROM nowhere')")
    empty_database.engine.url = empty_database.engine.url.set(username="canton", password="sesame")  # noqa: S106
    for attempt in (migrate.require_current, lambda it: migrate.upgrade(it, directory=folder.path)):
        with pytest.raises(SchemaMismatch) as caught:
            attempt(empty_database)
        assert "sesame" not in caught.value.message


WORK = """
op.create_table('half', sa.Column('id', sa.Integer(), primary_key=True))
op.execute('INSERT INTO half VALUES (1)')
"""


@pytest.mark.parametrize("failure", ["op.execute('SELECT * FROM nowhere')", "raise LookupError('a bug')"])
@pytest.mark.parametrize("earlier_revisions", [0, 1])
def test_a_migration_that_fails_leaves_nothing(
    empty_database: Database, folder: Folder, failure: str, earlier_revisions: int
) -> None:
    """Also of the revisions before it that the same upgrade applied."""
    if earlier_revisions:
        folder.add("0001_pre_good", "op.create_table('good', sa.Column('id', sa.Integer(), primary_key=True))")
    folder.add(f"000{earlier_revisions + 1}_pre_bad", WORK + failure)
    with pytest.raises((SchemaMismatch, LookupError)) as caught:
        migrate.upgrade(empty_database, directory=folder.path)
    if isinstance(caught.value, SchemaMismatch):
        assert re.search(r"could not be brought to .*nowhere.* nothing was changed", caught.value.message, re.DOTALL)
    assert tables(empty_database) == set()
    assert migrate.current(empty_database) is None
    assert migrate.upgrade(empty_database).after == REVISIONS[-1]


def test_rebuilding_a_table_keeps_what_refers_to_it(empty_database: Database, folder: Folder) -> None:
    """SQLite drops the old table; with foreign keys on, that would delete node_observation by cascade."""
    migrate.upgrade(empty_database)
    with empty_database.write() as connection:
        rows_by_table = fill(connection)
    folder.take(*REVISIONS).add(
        f"{len(REVISIONS) + 1:04}_post_nid",
        """
        with op.batch_alter_table("node") as batch:
            batch.alter_column("nid", type_=sa.BigInteger())
        """,
    )
    migrate.upgrade(empty_database, directory=folder.path)
    assert_kept(empty_database, rows_by_table)
    with pytest.raises(sa.exc.IntegrityError), empty_database.write() as connection:
        connection.execute(sa.update(schema.node).values(tenant="absent"))


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_migration_that_breaks_a_reference_is_undone(empty_database: Database, folder: Folder) -> None:
    """With foreign keys off, SQLite itself would not notice."""
    migrate.upgrade(empty_database)
    with empty_database.write() as connection:
        rows_by_table = fill(connection)
    folder.take(*REVISIONS).add(f"{len(REVISIONS) + 1:04}_post_oops", "op.execute('DELETE FROM tenant')")
    with pytest.raises(SchemaMismatch, match=r"a row of [a-z]+ would refer to a row of tenant that is not there"):
        migrate.upgrade(empty_database, directory=folder.path)
    assert_kept(empty_database, rows_by_table)


@pytest.fixture
def canton() -> list[str]:
    return [sys.executable, "-m", "canton"]


def test_upgrades_at_the_same_time_take_turns(empty_database_url: str, canton: list[str]) -> None:
    command = [*canton, "db", "upgrade", "--database", empty_database_url]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    outputs = sorted(process.communicate(timeout=60)[0].strip() for process in started)
    assert [process.returncode for process in started] == [0] * 5
    assert outputs == [f"already at {REVISIONS[-1]}, nothing to do"] * 4 + [f"empty → {REVISIONS[-1]}"]


def test_an_upgrade_waits_for_one_that_is_under_way(empty_database_url: str, canton: list[str]) -> None:
    database = open_database(empty_database_url, idle_in_transaction=60)
    command = [*canton, "db", "upgrade", "--database", empty_database_url]
    with ExitStack() as under_way:
        under_way.enter_context(migrate._alone(database))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                wait_at_the_door(database, process)
            finally:
                under_way.close()
            assert process.communicate(timeout=60)[0].strip() == f"empty → {REVISIONS[-1]}"
    database.close()


def wait_at_the_door(database: Database, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not is_at_the_door(database, process):
        assert process.poll() is None, "it did not wait"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None, "it did not wait"
    assert tables(database) == set()


def is_at_the_door(database: Database, process: subprocess.Popen[str]) -> bool:
    """Whether the process waits for PostgreSQL's lock, or has opened the SQLite file."""
    if database.is_postgresql:
        with database.read() as connection:
            waiting = (
                "SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE NOT granted AND datname = %s"
            )
            return bool(connection.exec_driver_sql(waiting, (database.engine.url.database,)).first())
    opened = []
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            opened.append(str(link.readlink()))
    return database.engine.url.database in opened


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    with zipfile.ZipFile(next(target.glob("*.whl"))) as archive:
        yield archive


def test_a_wheel_carries_the_migrations(wheel: zipfile.ZipFile) -> None:
    carried = {name for name in wheel.namelist() if name.startswith("canton/store/migrations/")}
    versions = {f"canton/store/migrations/versions/{revision}.py" for revision in REVISIONS}
    assert versions | {"canton/store/migrations/env.py"} <= carried


def test_a_path_with_a_percent_sign(tmp_path: Path) -> None:
    """Alembic reads its settings through configparser, which gives "%" a meaning."""
    folder = Folder(tmp_path / "100%s").add("0001_pre_x", "op.execute('CREATE TABLE x (id INTEGER)')")
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    assert migrate.upgrade(database, directory=folder.path).after == "0001_pre_x"
    database.close()
