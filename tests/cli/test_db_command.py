"""``canton db``, for an operator."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from canton.cli.main import main
from canton.store import audit, schema
from canton.store.database import Database, open_database
from canton.store.maintenance import database_checks, migrate

Run = Callable[..., tuple[int, str, str]]
HEAD = migrate.head()


@pytest.fixture
def canton(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line; returns exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["canton", *arguments])
        status = main()
        captured = capsys.readouterr()
        # test_which_database.py tests the line that names the database.
        return status, captured.out, re.sub(r"\Adatabase .*, chosen by .*\n", "", captured.err)

    return run


def test_upgrade_creates_and_says_from_where_to_where(canton: Run, empty_database_url: str) -> None:
    upgrade = ("db", "upgrade", "--database", empty_database_url)
    assert canton(*upgrade) == (0, f"empty → {HEAD}\n", "")
    assert canton(*upgrade) == (0, f"already at {HEAD}, nothing to do\n", "")
    assert canton("db", "check", "--database", empty_database_url)[0] == 0


def test_upgrade_says_what_waits_for_the_new_release(
    canton: Run, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = migrate.Upgrade(HEAD, HEAD, "0002_post_rest")
    monkeypatch.setattr(migrate, "upgrade", lambda _database, phase: outcome if phase == "pre" else None)
    assert canton("db", "upgrade", "--phase", "pre", "--database", empty_database_url) == (
        0,
        f"already at {HEAD}, nothing to do\n"
        "0002_post_rest waits for the new release: replace what runs, then: canton db upgrade\n",
        "",
    )


def test_the_database_comes_from_the_environment_or_lies_under_the_state_home(
    canton: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANTON_DATABASE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert canton("db", "upgrade")[0] == 0
    path = tmp_path / "state" / "canton" / "canton.db"
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0

    monkeypatch.setenv("CANTON_DATABASE", f"sqlite:///{tmp_path / 'named.db'}")
    assert canton("db", "upgrade")[0] == 0
    assert (tmp_path / "named.db").exists()
    assert canton("db", "upgrade", "--database", f"sqlite:///{tmp_path / 'flag.db'}")[0] == 0
    assert (tmp_path / "flag.db").exists()

    monkeypatch.delenv("CANTON_DATABASE")
    monkeypatch.setenv("XDG_STATE_HOME", "relative/paths/do/not/count")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert canton("db", "upgrade")[0] == 0
    assert (tmp_path / "home/.local/state/canton/canton.db").exists()


@pytest.mark.parametrize("command", [("db", "check"), ("db", "backup", "copy"), ("audit", "verify"), ("audit", "head")])
def test_a_file_that_is_not_there_is_not_created(canton: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    status, out, complaint = canton(*command, "--database", f"sqlite:///{tmp_path / 'typo.db'}")
    assert (status, out) == (1, "")
    create = f"canton db upgrade --database sqlite:///{tmp_path / 'typo.db'}"
    assert complaint == f"canton: there is no database {tmp_path / 'typo.db'}; create it with: {create}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(canton: Run, address: str) -> None:
    status, _, complaint = canton("db", "upgrade", "--database", address)
    assert (status, complaint) == (2, "canton: an SQLite database needs a file; write sqlite:///path/to/canton.db\n")


def test_check_has_one_line_per_check(canton: Run, database: Database, database_url: str) -> None:
    status, out, _ = canton("db", "check", "--database", database_url)
    assert status == 0
    expected = ["answers", "revision", "tables", "guards"]
    expected += ["server"] if database.is_postgresql else ["integrity", "foreign keys", "wal"]
    lines = out.splitlines()
    assert [line[8:22].strip() for line in lines] == [*expected, "audit", "writes"]
    assert all(line.startswith("ok ") for line in lines)


def failures(canton: Run, url: str) -> dict[str, str]:
    """The checks that ``db check`` reports as failed, with their messages."""
    status, out, _ = canton("db", "check", "--database", url)
    failed_checks = dict(re.findall(r"^FAILED  (.{14})(.*)$", out, re.MULTILINE))
    assert status == (1 if failed_checks else 0)
    return {name.strip(): text for name, text in failed_checks.items()}


def test_check_finds_that_nothing_can_be_written(canton: Run, database: Database, database_url: str) -> None:
    """As on a full disk, on which reads still work."""
    refusal = "BEGIN SELECT RAISE (ABORT, 'full'); END"
    with database.write() as connection:
        if database.is_postgresql:
            refusal = "FOR EACH ROW EXECUTE FUNCTION full_disk()"
            connection.exec_driver_sql(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$"
            )
        connection.exec_driver_sql(f"CREATE TRIGGER full_disk BEFORE INSERT ON write_probe {refusal}")
    assert failures(canton, database_url).keys() == {"writes"}


def test_check_finds_an_empty_database(canton: Run, empty_database: Database, empty_database_url: str) -> None:
    with empty_database.read():
        pass
    assert "canton db upgrade" in failures(canton, empty_database_url)["revision"]


def test_check_finds_a_changed_table(canton: Run, database: Database, database_url: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE tenant ADD COLUMN motto VARCHAR")
    failed_checks = failures(canton, database_url)
    assert failed_checks.keys() == {"tables"}
    assert "remove_column tenant motto" in failed_checks["tables"]


def test_check_goes_on_after_a_missing_table(canton: Run, database: Database, database_url: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("DROP TABLE audit")
    assert failures(canton, database_url).keys() == {"tables", "guards", "audit"}


def test_check_finds_a_missing_guard(canton: Run, database: Database, database_url: str) -> None:
    off = "ALTER TABLE event DISABLE TRIGGER USER" if database.is_postgresql else "DROP TRIGGER event_refuses_update"
    with database.write() as connection:
        connection.exec_driver_sql(off)
    failed_checks = failures(canton, database_url)
    assert failed_checks.keys() == {"guards"}
    assert "event_refuses" in failed_checks["guards"]


def test_check_finds_a_broken_audit(canton: Run, database: Database, database_url: str) -> None:
    with database.write() as connection:
        audit.append(connection, actor="a", action="b", subject="c", reason="d", details={})
        connection.execute(sa.update(schema.audit_head).values(hash="forged"))
    failed_checks = failures(canton, database_url)
    assert failed_checks.keys() == {"audit"}
    assert "record 1" in failed_checks["audit"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_check_finds_references_to_nothing(canton: Run, database: Database, database_url: str) -> None:
    raw = database.engine.raw_connection()
    cursor = raw.cursor()
    cursor.execute("PRAGMA foreign_keys = OFF")
    cursor.execute("INSERT INTO node (xname, state, tenant, changed_at) VALUES ('x0', 'free', 'absent', 0)")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
    raw.close()
    failed_checks = failures(canton, database_url)
    assert failed_checks.keys() == {"foreign keys"}
    assert "node row 1 → tenant" in failed_checks["foreign keys"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_check_finds_a_damaged_file(canton: Run, database: Database, database_url: str) -> None:
    with database.write() as connection:
        connection.execute(sa.insert(schema.tenant), [{"name": f"tenant{n:05}", "created_at": 0} for n in range(5000)])
        root = connection.exec_driver_sql("SELECT rootpage FROM sqlite_master WHERE name = 'tenant'").scalar_one()
    database.close()
    path = Path(make_url(database_url).database or "")
    contents = bytearray(path.read_bytes())
    contents[4096 * (root - 1) + 100 : 4096 * root] = b"\xff" * (4096 - 100)
    path.write_bytes(contents)
    assert "restore" in failures(canton, database_url)["integrity"]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_check_finds_a_server_that_is_too_old(canton: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_checks, "OLDEST_POSTGRESQL", 99)
    failed_checks = failures(canton, database_url)
    assert failed_checks.keys() == {"server"}
    assert "99 or newer" in failed_checks["server"]


def test_check_says_that_no_server_answers_and_hides_the_password(canton: Run) -> None:
    failed_checks = failures(canton, "postgresql://canton:sesame@127.0.0.1:1/canton")
    assert failed_checks.keys() == {"answers"}
    assert "canton:(hidden)@127.0.0.1" in failed_checks["answers"]


def test_check_waits_for_the_last_revisions(canton: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the roll-out and the post revisions, the tables still have the columns that those remove."""
    monkeypatch.setattr(migrate, "require_current", lambda _database: ["0002_post_rest"])
    status, out, _ = canton("db", "check", "--database", database_url)
    assert status == 0
    assert "after the roll-out, run: canton db upgrade (0002_post_rest)" in out
    assert "not compared" in out


def test_backup_writes_a_file_and_never_replaces_one(canton: Run, database_url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    status, out, _ = canton("db", "backup", str(copy), "--database", database_url)
    assert (status, out) == (0, f"wrote {copy} ({copy.stat().st_size} bytes)\n")
    status, out, complaint = canton("db", "backup", str(copy), "--database", database_url)
    assert (status, out) == (5, "")
    assert complaint == f"canton: {copy} exists and is not replaced; choose another name\n"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_backup_is_a_database_to_check(canton: Run, database_url: str, tmp_path: Path) -> None:
    canton("db", "backup", str(tmp_path / "copy.db"), "--database", database_url)
    assert failures(canton, f"sqlite:///{tmp_path / 'copy.db'}") == {}


def test_an_empty_database_is_not_worth_a_backup(
    canton: Run, empty_database: Database, empty_database_url: str, tmp_path: Path
) -> None:
    with empty_database.read():
        pass
    status, _, complaint = canton("db", "backup", str(tmp_path / "copy"), "--database", empty_database_url)
    assert status == 1
    assert "is empty; create the tables with: canton db upgrade" in complaint


def test_a_database_of_a_newer_release_is_left_alone(canton: Run, database_url: str) -> None:
    database = open_database(database_url)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999_pre_future'")
    database.close()
    status, _, complaint = canton("db", "upgrade", "--database", database_url)
    assert status == 1
    assert "newer than this Canton" in complaint


@pytest.mark.parametrize("secret", ["?password=sesame", "?%70assword=sesame", "?sslpassword=sesame&sslmode=require"])
@pytest.mark.parametrize(
    "command", [("settings",), ("settings", "--json"), ("db", "check"), ("db", "backup", "x.dump")]
)
def test_no_command_prints_a_password(canton: Run, command: tuple[str, ...], secret: str) -> None:
    for address in (
        f"postgresql://canton@127.0.0.1:1/canton{secret}",
        "postgresql://canton:a/sesame@127.0.0.1:1/canton",
    ):
        _, out, complaint = canton(*command, "--database", address)
        assert "sesame" not in out + complaint
        assert "127.0.0.1" in out + complaint


def test_the_help_of_backup_says_how_to_restore_and_what_would_spoil_it(canton: Run) -> None:
    """A reader needs it when the database is lost; no other help text explains restoring."""
    assert "canton db backup --help" in canton("db", "--help")[1]
    help_text = " ".join(canton("db", "backup", "--help")[1].split())
    assert "stop every server and worker" in help_text
    assert "remove the database with its -wal and -shm" in help_text
    assert "pg_restore" in help_text
