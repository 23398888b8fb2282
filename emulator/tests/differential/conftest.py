"""The two backends, and a summary of what was compared."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from differential.accepted_differences import ACCEPTED
from differential.backends import Emulator, Oracles, addresses, emulator, oracles
from differential.comparison import Tally

TALLY = pytest.StashKey[Tally]()
SKIPPED = "LEFT OUT: the real SMD, BSS and SLS are not there (.ci/oracles start DIR, or .ci/run)"
ONE_AT_A_TIME = "LEFT OUT: the real services take one sequence at a time (make test TESTS=tests/differential JOBS=0)"


@pytest.fixture(scope="session")
def real() -> Iterator[Oracles]:
    if addresses() is None:
        pytest.skip(SKIPPED)
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip(ONE_AT_A_TIME)
    side = oracles()
    yield side
    side.close()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    side = emulator(str(tmp_path_factory.mktemp("machines")))
    yield side
    side.close()


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    """The counts of the whole run."""
    return request.config.stash.setdefault(TALLY, Tally())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The test of needless explanations runs last, since the others count their uses."""
    items.sort(key=lambda item: item.name == "test_every_explanation_was_needed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tally = config.stash.get(TALLY, None)
    if tally is None or not tally.requests:
        return
    compared = ", ".join(f"{service} {count}" for service, count in sorted(tally.requests.items()))
    terminalreporter.section("the emulator beside the real services")
    terminalreporter.write_line(f"requests compared: {tally.requests.total()} ({compared})")
    for explanation in ACCEPTED:
        count = tally.explained[explanation.pattern]
        if count:
            terminalreporter.write_line(f"explained {count} times: {explanation.reason}")
    unexplained = sum(map(len, tally.unexplained.values()))
    terminalreporter.write_line(f"unexplained: {unexplained}", bold=True, red=unexplained > 0)
