"""Machines without a network, for most tests of the emulator."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import csm_emulator
from csm_emulator.site import Site
from csm_emulator.state.file import StateFile
from running_order import slow_first
from service_client import open_site

# On a shared machine the first example may take a second, which says nothing about the code; `make bench` has budgets.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The result of a run must not depend on chance: every run tries the same examples for the same code.
settings.register_profile("same", settings.get_profile("shared"), derandomize=True)
settings.load_profile("shared" if os.environ.get("CANTON_TEST_EXPLORE") else "same")

Open = Callable[[str], Site]


def pytest_configure() -> None:
    """A shell starts background jobs with Ctrl-C ignored, and processes of tests would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Hypothesis draws from the constants of loaded modules, so all modules are loaded in every run."""
    for module in pkgutil.walk_packages(csm_emulator.__path__, "csm_emulator."):
        if not module.name.endswith(("__main__", "pytest_plugin")):
            importlib.import_module(module.name)
    # All tests and modules stay until the end; the garbage collector need not scan them again and again.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = slow_first(items, _seconds, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _seconds(item: pytest.Item) -> int:
    """How long the test takes, as its marker says; 0 without one."""
    marker = item.get_closest_marker("slow")
    return int(marker.args[0]) if marker else 0


@pytest.fixture(autouse=True)
def closed_states(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes every state file that the test opened."""
    opened: list[StateFile] = []
    opening = StateFile.__init__

    def open_and_note(state_file: StateFile, path: Path) -> None:
        opening(state_file, path)
        opened.append(state_file)

    monkeypatch.setattr(StateFile, "__init__", open_and_note)
    yield
    for opened_file in opened:
        opened_file.close()


@pytest.fixture
def open_machine(tmp_path: Path) -> Iterator[Open]:
    """A machine of a named topology with a stopped clock."""
    opened: list[Site] = []

    def start(name: str) -> Site:
        opened.append(open_site(tmp_path / f"{name}-{len(opened)}.state", name))
        return opened[-1]

    yield start
    for site in opened:
        site.state_file.close()


@pytest.fixture(scope="module")
def shared_tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One machine for all tests of a file whose requests are refused, and so leave no trace."""
    shared = open_site(tmp_path_factory.mktemp("shared") / "tiny.state")
    yield shared
    shared.state_file.close()


@pytest.fixture
def site(open_machine: Open) -> Site:
    return open_machine("empty")


@pytest.fixture
def tiny(open_machine: Open) -> Site:
    return open_machine("tiny")
