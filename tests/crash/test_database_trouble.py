"""The database goes away in the middle of an operation: cut, restarted, full. Nothing is lost and nothing repeated."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from canton.domain.operation import OperationState
from canton.store.database import open_database
from canton.store.maintenance import migrate
from crash import device
from crash.conftest import NewCase
from crash.scenario import Case, case, check
from databases import postgresql_address

only_postgresql = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
only_sqlite = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
POSTGRES = Path(__file__).parents[2] / ".ci" / "postgres"


@only_postgresql
def test_every_connection_is_cut_again_and_again(new_case: NewCase) -> None:
    with new_case() as interrupted:
        worker = interrupted.start_worker(crawl=0.02)
        wait_for_requests(interrupted, 1)
        cuts, pause = 0, 0.3
        with psycopg.connect(postgresql_address(interrupted.url), autocommit=True) as admin_connection:
            while interrupted.run_to_the_end(for_seconds=pause) is not OperationState.UNDONE:
                assert worker.is_alive(), "a lost connection is no reason to die"
                cuts += cut_all_but(admin_connection)
                # On a busy machine the cuts are further apart, so that the worker makes progress between them.
                pause *= 1.05
        check(interrupted)
        assert cuts > 3
        assert worker.is_alive()


def cut_all_but(connection: psycopg.Connection[tuple[object]]) -> int:
    return connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s",
        [connection.info.backend_pid],
    ).rowcount


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Path]:
    """A PostgreSQL server that no other test uses."""
    folder = Path("/tmp") / f"canton-{os.getpid()}-{time.time_ns()}"  # noqa: S108  # the server's user must get in
    yield folder
    subprocess.run([POSTGRES, "stop", folder], check=True)


@only_postgresql
def test_the_server_crashes_and_comes_back(backend: str, own_server: Path, tmp_path: Path) -> None:
    url = subprocess.check_output([POSTGRES, "start", own_server], text=True).strip()
    database = open_database(url)
    migrate.upgrade(database)
    database.close()
    with case(url, tmp_path / "case", faulty=True, submitted=True) as interrupted:
        worker = interrupted.start_worker(crawl=0.05)
        wait_for_requests(interrupted, 2)
        subprocess.run([POSTGRES, "restart", own_server], check=True)
        interrupted.run_to_the_end()
        check(interrupted)
        assert worker.is_alive(), "a restarted database is no reason to die"


@only_sqlite
@pytest.mark.parametrize("requests", [1, 3, 5, 8])
def test_no_more_bytes_can_be_written_for_a_while(new_case: NewCase, requests: int) -> None:
    """The kernel refuses to let the worker's files grow, for longer than its lease."""
    with new_case() as interrupted:
        worker = interrupted.start_worker(crawl=0.02)
        assert worker.pid is not None
        wait_for_requests(interrupted, requests)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        entries_before = len(device.read_log(interrupted.log))
        time.sleep(1.0)
        during = len(device.read_log(interrupted.log)) - entries_before
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        interrupted.run_to_the_end()
        check(interrupted)
        assert during <= 4, "what cannot be written down must not be done"


@only_sqlite
@pytest.mark.skipif(os.getuid() != 0, reason="LEFT OUT: a really full disk (mounting one needs root)")
def test_the_disk_is_full_for_a_while(backend: str, templates: dict[str, str], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        file = disk / "canton.db"
        file.write_bytes(Path(templates[backend].removeprefix("sqlite:///")).read_bytes())
        with case(f"sqlite:///{file}", tmp_path / "case", faulty=True, submitted=True) as interrupted:
            worker = interrupted.start_worker(crawl=0.02)
            wait_for_requests(interrupted, 3)
            fill(disk / "filler")
            time.sleep(1.0)
            assert interrupted.find().state is not OperationState.UNDONE
            (disk / "filler").unlink()
            interrupted.run_to_the_end()
            check(interrupted)
            assert worker.is_alive(), "a full disk is no reason to die"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=True)  # noqa: S607
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # noqa: S607


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return


def wait_for_requests(interrupted: Case, count: int) -> None:
    """Wait until the device has received this many requests to change a value."""
    deadline = time.monotonic() + 30
    while len(device.read_log(interrupted.log)) < count:
        assert time.monotonic() < deadline, "the worker asked the device for nothing"
        time.sleep(0.005)
