"""The clock is set forward or back in the middle of an operation, and then the worker dies."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from canton.domain.operation import OperationState
from crash.conftest import NewCase
from crash.scenario import Case, check, end
from crash.test_database_trouble import wait_for_requests
from databases import postgresql_address

HOUR = 3600.0
SetClock = Callable[[float], None]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_the_clock_is_set_under_a_worker(new_case: NewCase, step: float) -> None:
    with new_case(faulty=False, submitted=False) as case:
        set_clock = steppable_clock(case)
        case.submit()
        case.start_worker(crawl=0.03, clock=str(case.folder / "clock"))
        wait_for_requests(case, 3)
        set_clock(step)
        case.run_to_the_end(choose="retry")
        check(case, OperationState.DONE)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_the_clock_is_set_and_the_worker_dies(new_case: NewCase, step: float) -> None:
    """Set back, the dead worker's lease seems to last an hour; a lease from the future must not be believed."""
    with new_case(faulty=False, submitted=False) as case:
        set_clock = steppable_clock(case)
        case.submit()
        doomed = case.start_worker(crawl=0.03, clock=str(case.folder / "clock"))
        wait_for_requests(case, 3)
        set_clock(step)
        end(doomed)
        case.workers.remove(doomed)
        started = time.monotonic()
        case.start_worker(clock=str(case.folder / "clock"))
        case.run_to_the_end(choose="retry")
        check(case, OperationState.DONE)
        assert time.monotonic() - started < 60


def steppable_clock(case: Case) -> SetClock:
    """The clock that all workers use: on PostgreSQL the server's, on SQLite that of the worker's process."""
    file = case.folder / "clock"
    file.write_text("0")
    return _postgresql_clock(case) if case.database.is_postgresql else _file_clock(file)


def _file_clock(file: Path) -> SetClock:
    def step(seconds: float) -> None:
        new = file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(file)

    return step


def _postgresql_clock(case: Case) -> SetClock:
    """A function that PostgreSQL finds before its own of the same name; it adds the seconds that the test sets."""
    address = postgresql_address(case.url)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET search_path = stepped, pg_catalog, public")
        connection.execute("CREATE SCHEMA stepped")
        connection.execute("CREATE TABLE stepped.clock AS SELECT 0.0::float8 AS off")
        connection.execute(
            "CREATE FUNCTION stepped.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS "
            "'SELECT pg_catalog.statement_timestamp() + make_interval(secs => off) FROM stepped.clock'"
        )
    case.database.close()

    def step(seconds: float) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE stepped.clock SET off = %s", [seconds])

    return step
