"""Alive, ready, and what Prometheus reads; without a token."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy import event as listening
from sqlalchemy.engine import make_url

from api.test_foreign_lock import locked
from asgi import request
from canton import __version__
from canton.api import health
from canton.api.events.hub import Hub
from canton.api.health import Health
from canton.api.metrics import Metrics
from canton.operations.plan.plan import Plan
from canton.store import schema
from canton.store.database import SECOND, Database, Timeouts, now, open_database
from canton.store.operations import workers
from devices import TENANT, add_tenant, order, plan_of, set_value

T = TypeVar("T")


def watched(database: Database, metrics: Metrics | None = None, hub: Hub | None = None) -> FastAPI:
    app = FastAPI()
    app.include_router(health.router(Health(database, hub or Hub(database), metrics or Metrics())))
    return app


def run(scenario: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(scenario)


def worker_seen(database: Database, ago: float) -> None:
    with database.write() as connection:
        workers.arrive(connection, f"w{ago}", "host", 1)
        connection.execute(sa.update(schema.worker).values(seen_at=now() - int(ago * SECOND)))


def ready(database: Database, hub: Hub | None = None) -> tuple[int, dict[str, str | None]]:
    answer = run(request(watched(database, hub=hub), "GET", "/readyz"))
    problem_by_check = {check["name"]: check.get("problem") for check in answer.json["checks"]}
    assert answer.json["ok"] is (answer.status == 200)
    assert all(check["ok"] is ("problem" not in check) for check in answer.json["checks"])
    return answer.status, problem_by_check


def scrape(database: Database, metrics: Metrics | None = None) -> dict[str, float]:
    answer = run(request(watched(database, metrics), "GET", "/metrics"))
    assert answer.headers["content-type"].startswith("text/plain")
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_a_process_that_answers_is_alive_whatever_the_database_does(tmp_path: Any) -> None:
    nothing = open_database(f"sqlite:///{tmp_path}/none/none.db")
    assert run(request(watched(nothing), "GET", "/healthz")).json == {"ok": True}


def test_ready_is_database_migrations_and_a_worker(database: Database) -> None:
    worker_seen(database, 50)
    assert ready(database) == (200, {"database": None, "migrations": None, "writes": None, "worker": None})


@pytest.mark.parametrize("prepare", [lambda _: None, lambda database: worker_seen(database, 61)], ids=["none", "old"])
def test_without_a_worker_it_is_not_ready(database: Database, prepare: Callable[[Database], None]) -> None:
    prepare(database)
    status, problem_by_check = ready(database)
    assert (status, problem_by_check["database"], problem_by_check["migrations"]) == (503, None, None)
    assert problem_by_check["worker"] == "no worker was seen within 60 s; start one: canton worker"


def test_a_database_without_tables_is_not_ready(empty_database: Database) -> None:
    status, problem_by_check = ready(empty_database)
    assert (status, problem_by_check["migrations"]) == (503, "schema-mismatch")


def test_a_database_that_does_not_answer_is_named_but_not_where_it_is(tmp_path: Any) -> None:
    nothing = open_database(f"sqlite:///{tmp_path}/none/none.db")
    assert ready(nothing) == (503, {"database": "database-unavailable"})


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_postgresql_that_refuses_writes_is_not_ready(database: Database) -> None:
    """By the code that PostgreSQL has for a full disk; to fill a real one takes the server down on some releases."""
    worker_seen(database, 1)
    with database.write() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON write_probe EXECUTE FUNCTION full_disk()"
        )
    assert ready(database) == (503, {"database": None, "migrations": None, "writes": "database-unavailable"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_full_disk_is_not_ready_until_it_has_room_again(database_url: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)  # noqa: S607
    database = open_database(f"sqlite:///{disk / 'canton.db'}")
    try:
        shutil.copy(str(make_url(database_url).database), disk / "canton.db")
        worker_seen(database, 1)
        app = watched(database)
        assert run(request(app, "GET", "/readyz")).status == 200
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        answer = run(request(watched(database), "GET", "/readyz"))
        assert (answer.status, answer.json["checks"][-1]["name"]) == (503, "writes")
        filler.unlink()
        assert run(request(watched(database), "GET", "/readyz")).status == 200
    finally:
        database.close()
        subprocess.run(["umount", str(disk)], check=True)  # noqa: S607


def test_not_ready_while_another_session_holds_what_every_change_needs(database_url: str) -> None:
    database = open_database(database_url, waits=Timeouts(lock=0.2))
    worker_seen(database, 1)
    with locked(database_url):
        assert ready(database)[1]["writes"] == "database-unavailable"
    assert ready(database)[0] == 200
    database.close()


def test_writes_are_tried_every_few_seconds_only(database: Database) -> None:
    worker_seen(database, 1)
    writes: list[str] = []
    listening.listen(
        database.engine,
        "before_cursor_execute",
        lambda _c, _u, statement, *_: writes.append(statement) if "write_probe" in statement else None,
    )
    looking = Health(database, Hub(database), Metrics())
    for _ in range(5):
        assert all(check.problem is None for check in looking._look())
    assert 1 <= len(writes) <= 2
    with database.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.write_probe)) == 1


def test_a_server_that_stops_is_not_ready(database: Database) -> None:
    worker_seen(database, 1)
    hub = Hub(database)
    hub.drain()
    status, problem_by_check = ready(database, hub)
    assert (status, problem_by_check["server"]) == (503, "it is stopping")


def test_readiness_reads_the_database_once_a_second(database: Database) -> None:
    statements: list[str] = []
    listening.listen(database.engine, "begin", lambda _: statements.append("begin"))

    async def often() -> None:
        app = watched(database)
        await request(app, "GET", "/readyz")
        once = len(statements)
        await asyncio.gather(*(request(app, "GET", "/readyz") for _ in range(20)))
        assert len(statements) == once

    run(often())


def test_metrics_are_written_once_a_second(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, scrapes = Metrics(), list[bytes]()
    text = metrics.text

    def counted(*arguments: Any) -> bytes:
        scrapes.append(text(*arguments))
        return scrapes[-1]

    monkeypatch.setattr(metrics, "text", counted)
    app = watched(database, metrics)

    async def often() -> None:
        for _ in range(20):
            assert (await request(app, "GET", "/metrics")).status == 200

    run(often())
    assert len(scrapes) < 10


def test_metrics_count_what_is_open_by_state_and_name_no_tenant(database: Database) -> None:
    with database.write() as connection:
        add_tenant(connection)
    worker_seen(database, 1)
    plan: Plan = plan_of(set_value(1, "t"), tenant=TENANT)
    order(database, plan)
    order(database, plan_of(set_value(1, "u"), tenant=TENANT))
    samples = scrape(database)
    assert samples['canton_open_operations{state="queued"}'] == 2
    assert samples['canton_open_operations{state="needs_attention"}'] == 0
    assert not any("done" in name for name in samples)
    assert (samples["canton_due_operations"], samples["canton_workers"]) == (2, 1)
    assert (samples["canton_event_readers"], samples["canton_database_up"]) == (0, 1)
    assert samples[f'canton_build_info{{version="{__version__}"}}'] == 1
    assert not any(TENANT in name for name in samples)


def test_metrics_are_served_without_the_database(tmp_path: Any) -> None:
    samples = scrape(open_database(f"sqlite:///{tmp_path}/none/none.db"))
    assert samples["canton_database_up"] == 0


class Route:
    path = "/v1/tenants/{tenant}"


def test_requests_are_counted_by_template_never_by_address(database: Database) -> None:
    metrics = Metrics()
    scope = {"method": "GET", "path": "/v1/tenants/psi", "route": Route(), "headers": []}
    metrics.observe(scope, 200, 0.004)
    metrics.observe(scope, 404, 0.004)
    metrics.observe({**scope, "route": None, "path": "/secret", "method": "BREW"}, 404, 0.004)
    stream = {**scope, "headers": [(b"accept", b"text/event-stream")]}
    metrics.observe(stream, 200, 900.0)
    samples = scrape(database, metrics)
    template = 'method="GET",route="/v1/tenants/{tenant}"'
    assert samples[f'canton_requests_total{{{template},status="2xx"}}'] == 2
    assert samples[f'canton_requests_total{{{template},status="4xx"}}'] == 1
    assert samples['canton_requests_total{method="(other)",route="(none)",status="4xx"}'] == 1
    assert samples[f"canton_request_seconds_count{{{template}}}"] == 2
    assert not any("psi" in name or "secret" in name or "BREW" in name for name in samples)


def test_two_servers_in_one_process_count_for_themselves(database: Database) -> None:
    one, two = Metrics(), Metrics()
    one.observe({"method": "GET", "path": "/x", "headers": []}, 200, 0.1)
    assert any("canton_requests_total" in name for name in scrape(database, one))
    assert not any("canton_requests_total" in name for name in scrape(database, two))
