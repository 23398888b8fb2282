"""A foreign session holds what changes need: they are refused with Retry-After, and reads go on as before."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace

import psycopg
import pytest
from sqlalchemy.engine import make_url

from api.conftest import Api, Reply, made_services, serving
from canton.api.middleware.write_capacity import SLOTS
from canton.domain.errors import DatabaseUnavailable
from canton.store.database import SERVING, Timeouts, open_database
from databases import postgresql_address
from tokens import Mint

WRITERS = 40
# A read behind a writer would wait as long as that waits for the lock; a quiet machine needs 0.05 s.
LOCK_WAIT = 8.0
LONGEST_READ = 7.0


@pytest.fixture
def api(database_url: str, tokens: Mint) -> Iterator[Api]:
    database = open_database(database_url, waits=replace(SERVING, lock=LOCK_WAIT))
    with serving(made_services(database, tokens), tokens) as running:
        yield running
    database.close()


@contextmanager
def locked(url: str) -> Iterator[None]:
    """The end of the audit chain, which every change moves; SQLite has one lock for all."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(make_url(url).database or "", isolation_level=None)) as foreign:
            foreign.execute("BEGIN IMMEDIATE")
            yield
        return
    with psycopg.connect(postgresql_address(url)) as foreign:
        foreign.execute("SELECT * FROM audit_head FOR UPDATE")
        yield
        foreign.rollback()


def test_reads_go_on_and_changes_fail_fast_under_a_foreign_lock(api: Api, database_url: str) -> None:
    admin, reader = api.as_("root", "canton-provider-admin"), api.as_("bob", "canton-auditor")
    for path in ("/v1/whoami", "/v1/tenants", "/v1/audit"):
        assert reader.get(path).status == 200

    def create(number: int) -> tuple[Reply, float]:
        began = time.monotonic()
        return admin.post("/v1/tenants", {"name": f"t{number}"}), time.monotonic() - began

    with ThreadPoolExecutor(WRITERS) as pool:
        with locked(database_url):
            changes = [pool.submit(create, number) for number in range(WRITERS)]
            under_way = api.services.write_capacity.under_way
            while under_way.total() < SLOTS and not all(change.done() for change in changes):
                time.sleep(0.01)
            slowest = max(timed(reader, path) for _ in range(10) for path in ("/v1/whoami", "/v1/tenants", "/v1/audit"))
            answers = [change.result() for change in changes]
        assert create(WRITERS)[0].status == 201
    assert slowest < LONGEST_READ
    assert {answer.code for answer, _ in answers} <= {"database-unavailable", "too-busy"}
    assert "database-unavailable" in {answer.code for answer, _ in answers}
    assert {answer.headers.get("retry-after") for answer, _ in answers} == {"1"}
    assert max(seconds for _, seconds in answers) < 3 * LOCK_WAIT


def test_who_is_not_pinned_yet_holds_up_no_reader_under_a_foreign_lock(api: Api, database_url: str) -> None:
    admin, bob = api.as_("root", "canton-provider-admin"), api.as_("bob")
    admin.post("/v1/tenants", {"name": "psi"})
    admin.post("/v1/bindings", {"subject": "test:bob", "role": "tenant-viewer", "tenant": "psi", "until": None})
    admin.post("/v1/bindings", {"subject": "test:root", "role": "tenant-viewer", "tenant": "psi", "until": None})
    with ThreadPoolExecutor(WRITERS) as pool, locked(database_url):
        alone = timed(admin, "/v1/whoami")
        replies = [pool.submit(bob.get, "/v1/tenants/psi") for _ in range(3 * WRITERS)]
        slowest = max(timed(admin, path) for _ in range(5) for path in ("/v1/whoami", "/v1/tenants"))
        answers = [reply.result() for reply in replies]
        assert bob.get("/v1/whoami").json["bindings"] == []
        assert bob.get("/v1/tenants").code == "database-unavailable"
    assert max(alone, slowest) < LONGEST_READ
    assert {(answer.code, answer.headers.get("retry-after")) for answer in answers} == {("database-unavailable", "1")}
    assert bob.get("/v1/tenants/psi").status == 200


def timed(reader: Api, path: str) -> float:
    began = time.monotonic()
    assert reader.get(path).status == 200
    return time.monotonic() - began


def test_a_wait_for_a_lock_ends_as_busy(database_url: str) -> None:
    database = open_database(database_url, waits=Timeouts(lock=0.2, statement=5))
    with (
        locked(database_url),
        pytest.raises(DatabaseUnavailable, match="try again shortly"),
        database.write() as connection,
    ):
        connection.exec_driver_sql("UPDATE audit_head SET seq = seq")
    database.close()


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_statement_that_takes_too_long_ends_as_busy(database_url: str) -> None:
    database = open_database(database_url, waits=Timeouts(lock=1, statement=0.2))
    with pytest.raises(DatabaseUnavailable, match="took too long"), database.read() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(5)")
    database.close()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_places_come_back_after_a_change_that_fails(api: Api) -> None:
    admin = api.as_("root", "canton-provider-admin")
    assert admin.post("/v1/tenants", {"name": "psi"}).status == 201
    outcomes: list[int] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(admin.post("/v1/tenants", {"name": "psi"}).status))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(outcomes) <= {200, 409}
    assert admin.post("/v1/tenants", {"name": "eth"}).status == 201
