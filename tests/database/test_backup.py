from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from canton.domain.errors import NeedsHuman, Unavailable, WrongState
from canton.store import audit
from canton.store.database import Database, open_database
from canton.store.maintenance import backup, database_checks
from databases import Databases

POSTGRESQL = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
SQLITE = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


def add(database: Database, count: int = 1) -> None:
    with database.write() as connection:
        for _ in range(count):
            audit.append(connection, actor="a", action="b", subject="c", reason="d", details={})


def length(database: Database) -> int:
    with database.read() as connection:
        return audit.verify(connection).seq


@contextmanager
def restored(file: Path, source: Databases) -> Iterator[Database]:
    """Restore a backup with the commands of the documentation."""
    with source.empty() as url:
        address = make_url(url)
        if address.get_backend_name() == "sqlite":
            shutil.copyfile(file, address.database or "")
        else:
            subprocess.run(["pg_restore", "--exit-on-error", f"--dbname={url}", str(file)], check=True)  # noqa: S607
        database = open_database(url)
        try:
            yield database
        finally:
            database.close()


def test_a_backup_can_be_restored(database: Database, fresh_databases: Databases, tmp_path: Path) -> None:
    add(database, 3)
    backup.write(database, tmp_path / "copy")
    add(database)
    with restored(tmp_path / "copy", fresh_databases) as copy:
        assert length(copy) == 3
        assert [finding for finding in database_checks.examine(copy) if not finding.ok] == []
        add(copy)
        assert length(copy) == 4


def test_a_backup_is_one_moment_while_others_write(
    database: Database, fresh_databases: Databases, tmp_path: Path
) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            add(database, 3)

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write) for _ in range(2)]
        try:
            files = [tmp_path / f"copy{n}" for n in range(3)]
            for file in files:
                backup.write(database, file)
        finally:
            stop.set()
        for writer in writing:
            writer.result()
    lengths = []
    for file in files:
        with restored(file, fresh_databases) as copy:
            lengths.append(length(copy))
    assert lengths == sorted(lengths)
    assert all(count % 3 == 0 for count in lengths), "no transaction is there by half"
    assert lengths[0] <= length(database)


def test_only_the_owner_can_read_a_backup_and_nothing_else_is_left(database: Database, tmp_path: Path) -> None:
    target = tmp_path / "backups" / "copy"
    target.parent.mkdir()
    backup.write(database, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(target.parent) == ["copy"]


def test_a_file_that_is_there_is_not_replaced(database: Database, tmp_path: Path) -> None:
    target = tmp_path / "backups" / "copy"
    target.parent.mkdir()
    target.write_text("precious")
    with pytest.raises(WrongState, match="exists and is not replaced"):
        backup.write(database, target)
    assert target.read_text() == "precious"
    assert os.listdir(target.parent) == ["copy"]


def appear(target: Path, then: Callable[[], None]) -> Callable[..., None]:
    def copy(_database: Database, partial: Path) -> None:
        partial.write_text("a copy")
        target.write_text("precious")
        then()

    return copy


@pytest.mark.parametrize("links", [True, False], ids=["with links", "without links"])
@SQLITE
def test_a_file_that_appears_meanwhile_is_not_replaced(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def take_links_away() -> None:
        if not links:
            monkeypatch.setattr(os, "link", no_links)

    target = tmp_path / "backups" / "copy"
    target.parent.mkdir()
    monkeypatch.setattr(backup, "_copy_sqlite", appear(target, take_links_away))
    with pytest.raises(WrongState, match="exists and is not replaced"):
        backup.write(database, target)
    assert target.read_text() == "precious"
    assert os.listdir(target.parent) == ["copy"]


@SQLITE
def test_a_file_system_without_links_will_do(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "backups" / "copy"
    target.parent.mkdir()
    backup.write(database, target)
    assert os.listdir(target.parent) == ["copy"]


def test_a_folder_that_is_not_there_is_named(database: Database, tmp_path: Path) -> None:
    with pytest.raises(WrongState, match=r"there is no folder .*/nowhere"):
        backup.write(database, tmp_path / "nowhere" / "copy")


@SQLITE
def test_a_damaged_database_is_not_backed_up(database: Database, database_url: str, tmp_path: Path) -> None:
    add(database, 200)
    database.close()
    path = Path(make_url(database_url).database or "")
    contents = bytearray(path.read_bytes())
    page = 4096
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'audit'").fetchone()[0]
    contents[page * (root - 1) : page * root] = os.urandom(page)
    path.write_bytes(contents)
    target = tmp_path / "backups" / "copy"
    target.parent.mkdir()
    with pytest.raises(NeedsHuman, match="is damaged"):
        backup.write(database, target)
    assert os.listdir(target.parent) == []


@POSTGRESQL
def test_without_pg_dump_it_says_what_to_install(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="install PostgreSQL's client programs"):
        backup.write(database, tmp_path / "copy")


SPY = """#!/bin/sh
echo "$@" > "$(dirname "$0")/arguments"
echo "$PGPASSWORD" > "$(dirname "$0")/password"
cat "$PGSERVICEFILE" > "$(dirname "$0")/services"
echo "pg_dump: error: it went wrong" >&2
exit 1
"""


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pg_dump that records its arguments and environment."""
    program = tmp_path / "pg_dump"
    program.write_text(SPY)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("PGSERVICE", raising=False)


@POSTGRESQL
@pytest.mark.usefixtures("spy")
def test_the_passphrase_of_a_key_is_not_on_the_command_line(tmp_path: Path, backend: str) -> None:
    database = open_database("postgresql://canton@db.example.org/canton?sslkey=/k&sslpassword=open%20ses%40me")
    with pytest.raises(Unavailable, match="it went wrong") as caught:
        backup.write(database, tmp_path / "copy")
    arguments = (tmp_path / "arguments").read_text()
    assert "ses@me" not in caught.value.message + arguments
    assert "service=canton" in arguments
    assert "host=db.example.org" in arguments
    assert (tmp_path / "services").read_text() == "[canton]\nsslpassword=open ses@me\n"
    database.close()


@POSTGRESQL
@pytest.mark.usefixtures("spy")
def test_a_service_keeps_the_passphrase_itself(tmp_path: Path, backend: str) -> None:
    database = open_database("postgresql:///?service=canton&sslpassword=sesame")
    with pytest.raises(WrongState, match="write sslpassword with the service"):
        backup.write(database, tmp_path / "copy")
    database.close()


@POSTGRESQL
@pytest.mark.usefixtures("spy")
def test_the_password_is_not_on_the_command_line(tmp_path: Path, backend: str) -> None:
    database = open_database("postgresql://canton:open%20ses%40me@db.example.org:6543/canton?sslmode=verify-full")
    with pytest.raises(Unavailable, match="it went wrong") as caught:
        backup.write(database, tmp_path / "copy")
    arguments = (tmp_path / "arguments").read_text()
    assert "open ses@me" not in caught.value.message + arguments
    assert (tmp_path / "password").read_text() == "open ses@me\n"
    for part in ("user=canton", "host=db.example.org", "port=6543", "dbname=canton", "sslmode=verify-full"):
        assert part in arguments
    assert not (tmp_path / "copy").exists()
    database.close()
