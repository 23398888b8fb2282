from __future__ import annotations

import re
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url

from canton.domain.errors import DatabaseUnavailable, InvalidSetting, NeedsHuman
from canton.store import schema
from canton.store.database import SECOND, Database, insert_new, now, open_database
from canton.store.inventory import nodes
from canton.store.listing import Window

CREATED = {"created_at": 0}


def add(connection: Connection, name: str) -> None:
    connection.execute(sa.insert(schema.tenant).values(name=name, created_at=now()))


def names(connection: Connection) -> list[str]:
    return list(connection.scalars(sa.select(schema.tenant.c.name).order_by(schema.tenant.c.name)))


@pytest.fixture
def other_database(database_url: str) -> Iterator[Database]:
    """The same database, as another process sees it."""
    opened = open_database(database_url)
    yield opened
    opened.close()


def test_a_write_is_there_for_others_when_the_block_ends(database: Database, other_database: Database) -> None:
    with database.write() as connection:
        add(connection, "psi")
        with other_database.read() as elsewhere:
            assert names(elsewhere) == []
    with other_database.read() as elsewhere:
        assert names(elsewhere) == ["psi"]


def fail_after_writing(database: Database) -> None:
    with database.write() as connection:
        add(connection, "psi")
        raise LookupError


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(LookupError):
        fail_after_writing(database)
    with database.read() as connection:
        assert names(connection) == []


def test_a_read_sees_one_moment(database: Database, other_database: Database) -> None:
    with database.read() as connection:
        assert names(connection) == []
        with other_database.write() as elsewhere:
            add(elsewhere, "psi")
        assert names(connection) == []
    with database.read() as connection:
        assert names(connection) == ["psi"]


def test_a_read_changes_nothing(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable) as caught, database.read() as connection:
        add(connection, "psi")
    assert re.search("read-?only", caught.value.cause)
    with database.write() as connection:
        assert names(connection) == []
        add(connection, "psi")
    with database.read() as connection:
        assert names(connection) == ["psi"]


def test_references_are_enforced(database: Database) -> None:
    node = sa.insert(schema.node).values(xname="x1000c0s0b0n0", state="free", tenant="absent", changed_at=0)
    with pytest.raises(sa.exc.IntegrityError), database.write() as connection:
        connection.execute(node)


def test_writers_queue(database: Database) -> None:
    writers, writes_per_writer = 6, 10
    together = threading.Barrier(writers)

    def write(writer: int) -> None:
        together.wait()
        for n in range(writes_per_writer):
            with database.write() as connection:
                names(connection)
                add(connection, f"t{writer}-{n}")

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    with database.read() as connection:
        assert len(names(connection)) == writers * writes_per_writer


def test_now_is_the_time_in_microseconds(database: Database) -> None:
    with database.read() as connection:
        instant = connection.scalar(sa.select(now()))
    assert instant is not None
    assert abs(instant - time.time() * SECOND) < 60 * SECOND


def test_now_moves_on_within_a_transaction(database: Database) -> None:
    with database.read() as connection:
        first = connection.scalar(sa.select(now()))
        time.sleep(0.001)
        second = connection.scalar(sa.select(now()))
    assert first is not None
    assert second is not None
    assert second > first


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_sqlite_takes_the_time_from_the_clock_it_is_given(database_url: str) -> None:
    database = open_database(database_url, clock=lambda: 17)
    with database.write() as connection:
        add(connection, "psi")
        assert connection.scalar(sa.select(schema.tenant.c.created_at)) == 17
    database.close()


def test_only_rows_that_are_new_are_inserted(database: Database) -> None:
    with database.write() as connection:
        assert insert_new(connection, schema.tenant, [{"name": "psi"}, {"name": "eth"}], **CREATED) == 2
        assert insert_new(connection, schema.tenant, [{"name": "eth"}, {"name": "cscs"}], **CREATED) == 1
        assert names(connection) == ["cscs", "eth", "psi"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_sqlite_forces_every_commit_to_the_disk(database: Database) -> None:
    full = 2
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == full
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


@pytest.mark.parametrize("address", ["postgresql://canton:sesame@127.0.0.1:1/canton", "sqlite:////nowhere/canton.db"])
def test_a_database_that_is_not_there_is_unavailable(address: str) -> None:
    database = open_database(address)
    with pytest.raises(DatabaseUnavailable, match="try again") as caught, database.read():
        pass
    assert "sesame" not in caught.value.with_cause
    database.close()


@pytest.mark.parametrize(
    "address",
    [
        "canton.db",
        "mysql://canton:sesame@db/canton",
        "",
        "postgresql://c:sesame@a:1,b:2/c",
        "postgresql://c:a@b:sesame@d/c",
        "postgresql://c:sesame@d/c?port=sesame",
        "postgresql://c:sesame@/c?host=a:1&host=b:2&port=1",
    ],
)
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(InvalidSetting, match="sqlite:///") as caught:
        open_database(address)
    assert "sesame" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("option", ["bogus=1", "passwrod=hunter2", "sslmode=require&hunter2=1"])
def test_an_option_that_postgresql_does_not_know_is_refused(option: str) -> None:
    with pytest.raises(InvalidSetting, match="does not know") as caught:
        open_database(f"postgresql://canton@127.0.0.1:1/canton?{option}")
    assert "hunter2" not in caught.value.message


def test_the_end_of_a_password_is_not_taken_for_a_host_and_shown() -> None:
    database = open_database("postgresql://canton:open@sesame@127.0.0.1:1/canton")
    with pytest.raises(DatabaseUnavailable) as caught, database.read():
        pass
    assert "sesame" not in caught.value.with_cause
    assert "write @ as %40" in caught.value.with_cause
    database.close()


def test_a_file_that_is_no_database_is_for_a_human(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of the kind\n" * 100)
    database = open_database(f"sqlite:///{path}")
    with pytest.raises(NeedsHuman) as caught, database.read():
        pass
    assert caught.type is NeedsHuman
    assert "file is not a database" in caught.value.cause
    database.close()


def sleep_in_a_transaction(database: Database, seconds: float) -> None:
    with database.write() as connection:
        add(connection, "sleeper")
        time.sleep(seconds)
        add(connection, "too late")


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_postgresql_ends_a_transaction_that_sleeps(database_url: str) -> None:
    """A worker frozen in a transaction must not keep its locks, and its successor out, for as long as it sleeps."""
    database = open_database(database_url, idle_in_transaction=0.2)
    with pytest.raises(DatabaseUnavailable):
        sleep_in_a_transaction(database, 0.6)
    with database.write() as connection:
        assert names(connection) == []
        add(connection, "sleeper")
    database.close()


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_connections_that_the_server_cut_are_replaced(
    database: Database, other_database: Database, database_url: str
) -> None:
    for _ in range(2):
        with database.write() as connection:
            names(connection)
    with other_database.write() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            (make_url(database_url).database,),
        )
    with pytest.raises(DatabaseUnavailable, match="try again"), database.write() as connection:
        add(connection, "psi")
    with database.write() as connection:
        add(connection, "psi")


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_more_users_than_connections_wait_their_turn(database: Database) -> None:
    users = 40

    def use(n: int) -> None:
        with database.write() as connection:
            add(connection, f"t{n}")
            time.sleep(0.005)

    with ThreadPoolExecutor(users) as pool:
        list(pool.map(use, range(users)))
    with database.read() as connection:
        assert len(names(connection)) == users


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_lists_of_every_length_leave_no_statements_prepared(database: Database) -> None:
    """Each length makes another statement, of megabytes for thousands of names, and a caller chooses the length."""
    with database.read() as connection:
        if "ENABLE_STMTVTAB" not in connection.scalars(sa.text("PRAGMA compile_options")).all():
            pytest.skip("LEFT OUT: what SQLite keeps prepared (this SQLite was built without the table sqlite_stmt)")
    for count in range(400, 410):
        with database.read() as connection:
            names = [f"nid{number:06}" for number in range(count)]
            assert not nodes.page(connection, None, nodes.NodeFilter(names=names), Window(10, "xname")).rows
    with database.read() as connection:
        prepared = [len(row.sql) for row in connection.execute(sa.text("SELECT sql FROM sqlite_stmt"))]
    assert max(prepared) < 400
