"""Machines without a network: what most tests of the emulator need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from csm_emulator.site import Site
from csm_emulator.state.file import StateFile
from service_client import open_site

Open = Callable[[str], Site]


@pytest.fixture(autouse=True)
def closed_states(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test opened is closed after it."""
    opened: list[StateFile] = []
    opening = StateFile.__init__

    def open_and_note(kept: StateFile, path: Path) -> None:
        opening(kept, path)
        opened.append(kept)

    monkeypatch.setattr(StateFile, "__init__", open_and_note)
    yield
    for kept in opened:
        kept.close()


@pytest.fixture
def open_machine(tmp_path: Path) -> Iterator[Open]:
    """A machine of a named topology, its clock standing still."""
    opened: list[Site] = []

    def start(name: str) -> Site:
        opened.append(open_site(tmp_path / f"{name}-{len(opened)}.state", name))
        return opened[-1]

    yield start
    for site in opened:
        site.kept.close()


@pytest.fixture(scope="module")
def shared_tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests of a file whose requests are refused, and so leave nothing."""
    shared = open_site(tmp_path_factory.mktemp("shared") / "tiny.state")
    yield shared
    shared.kept.close()


@pytest.fixture
def site(open_machine: Open) -> Site:
    return open_machine("empty")


@pytest.fixture
def tiny(open_machine: Open) -> Site:
    return open_machine("tiny")
