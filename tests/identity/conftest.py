"""The issuers of the tests of flows, and a report when Keycloak is not among them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from identity.issuers import KEYCLOAK, Embedded, Issuer, embedded, keycloak

LEFT_OUT = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Issuer]]:
    """One issuer of each kind for the whole run; created at the first use."""
    with ExitStack() as stack:
        yield _Issuers(stack, tmp_path_factory.mktemp("issuer") / "issuer.db")


class _Issuers(dict[str, Issuer]):
    def __init__(self, stack: ExitStack, state: Path) -> None:
        super().__init__()
        self._stack = stack
        self._state = state

    def __missing__(self, kind: str) -> Issuer:
        if kind == "keycloak":
            self[kind] = self._stack.enter_context(keycloak(os.environ[KEYCLOAK]))
        else:
            self[kind] = self._stack.enter_context(embedded(self._state))
        return self[kind]


@pytest.fixture(params=["embedded", "keycloak"])
def issuer(request: pytest.FixtureRequest, issuers: dict[str, Issuer]) -> Issuer:
    return issuers[str(request.param)]


@pytest.fixture
def shared(issuers: dict[str, Issuer]) -> Embedded:
    """The embedded issuer, for tests that do not change its state."""
    issuer = issuers["embedded"]
    assert isinstance(issuer, Embedded)
    return issuer


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Embedded]:
    """An embedded issuer of this test alone."""
    with embedded(tmp_path / "issuer.db") as issuer:
        yield issuer


# After -k and -m, so that the number is that of the tests which would have run.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(KEYCLOAK):
        return
    selected = [item for item in items if not _needs_keycloak(item)]
    config.stash[LEFT_OUT] = len(items) - len(selected)
    items[:] = selected


def _needs_keycloak(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("issuer") == "keycloak"


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out_keycloak"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    config = getattr(node, "config")  # noqa: B009  # pytest-xdist has no types for its nodes
    config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out_keycloak", 0)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.stash.get(LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(
            f"LEFT OUT: Keycloak variants of {count} tests (set {KEYCLOAK} or run .ci/run)", red=True, bold=True
        )
