"""Fixtures of the whole suite: databases of both kinds, and a report of the tests that were left out."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import canton
import demo
from canton.store.database import Database, open_database
from databases import SERVER, Databases, databases, migrated
from running_order import slow_first

# On a shared machine the first example may take a second, which says nothing of the code; budgets have `make bench`.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Whether a change may land must not be luck: the same code is tried with the same examples everywhere.
settings.register_profile("same", settings.get_profile("shared"), derandomize=True)
settings.load_profile("shared" if os.environ.get("CANTON_TEST_EXPLORE") else "same")
# Checks that live outside of test files explain themselves too.
pytest.register_assert_rewrite("crash.scenario")
LEFT_OUT = pytest.StashKey[int]()


def pytest_configure() -> None:
    """Restore Ctrl-C: a shell starts background commands with it ignored, and processes of tests would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Hypothesis tries the constants of loaded modules too, and which are loaded must not hang on earlier tests."""
    for package in (canton, demo):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".__main__") and ".migrations." not in module.name:
                importlib.import_module(module.name)
    # Ten thousand collected tests and all modules stay until the end. Walking over them, as pytest lets the garbage
    # collector do several times when it ends, takes each worker two seconds.
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database; a test for one kind has ``@pytest.mark.parametrize("backend", [...], indirect=True)``."""
    return str(request.param)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of a migrated database of each kind that can run here; created at the first use."""
    with ExitStack() as stack:
        yield Templates(stack, tmp_path_factory.mktemp("templates"))


class Templates(dict[str, str]):
    def __init__(self, stack: ExitStack, folder: Path) -> None:
        super().__init__()
        self.stack = stack
        self.folder = folder

    def __missing__(self, backend: str) -> str:
        self[backend] = url = self.stack.enter_context(migrated(databases(backend, self.folder)))
        return url


@pytest.fixture
def fresh_databases(backend: str, tmp_path: Path) -> Databases:
    return databases(backend, tmp_path)


@pytest.fixture
def database_url(fresh_databases: Databases, templates: dict[str, str], backend: str) -> Iterator[str]:
    """A migrated database, for tests that start other processes; ``database`` opens the same one."""
    with fresh_databases.copy(templates[backend]) as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database."""
    opened = open_database(database_url, idle_in_transaction=60)
    yield opened
    opened.close()


@pytest.fixture
def empty_database_url(fresh_databases: Databases) -> Iterator[str]:
    """A database without tables; on SQLite, not even a file."""
    with fresh_databases.empty() as url:
        yield url


@pytest.fixture
def empty_database(empty_database_url: str) -> Iterator[Database]:
    opened = open_database(empty_database_url, idle_in_transaction=60)
    yield opened
    opened.close()


# After -k and -m, so that the number is that of the tests which would have run.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get(SERVER):
        possible = [item for item in items if not _needs_postgresql(item)]
        config.stash[LEFT_OUT] = len(items) - len(possible)
        items[:] = possible
    items[:] = slow_first(items, _seconds, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _seconds(item: pytest.Item) -> int:
    """The seconds that the test takes, by its marker; 0 without one."""
    marker = item.get_closest_marker("slow")
    return int(marker.args[0]) if marker else 0


def _needs_postgresql(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("backend") == "postgresql"


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take the number from a worker of pytest-xdist: all workers collect the same tests, the main process none."""
    config = getattr(node, "config")  # noqa: B009  # pytest-xdist has no types for its nodes
    config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for what, number in sorted(_counted(terminalreporter).items()):
        terminalreporter.write_line(f"{number} {what}", bold=True)
    count = config.stash.get(LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(
            f"LEFT OUT: PostgreSQL variants of {count} tests (set {SERVER} or run .ci/run)", red=True, bold=True
        )


def _counted(terminalreporter: pytest.TerminalReporter) -> Counter[str]:
    """The sums of the numbers that tests recorded with ``record_property``."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        counts.update({what: number for what, number in report.user_properties if isinstance(number, int)})
    return counts
