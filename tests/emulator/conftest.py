"""Machines without a network: what most tests of the emulator need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from canton.emulator.machine import topologies
from canton.emulator.machine.state_file import StateFile
from canton.emulator.site import Site, Start

MOMENT = 1_800_000_000.0

Open = Callable[[str], Site]


@pytest.fixture
def open_machine(tmp_path: Path) -> Iterator[Open]:
    """A machine of a named topology, its clock standing still."""
    opened: list[StateFile] = []

    def start(name: str) -> Site:
        kept = StateFile(tmp_path / f"{name}-{len(opened)}.state")
        opened.append(kept)
        return Site(Start(load(name), seed=1, speed=0.0, moment=MOMENT), kept)

    yield start
    for kept in opened:
        kept.close()


@pytest.fixture
def site(open_machine: Open) -> Site:
    return open_machine("empty")


@pytest.fixture
def tiny(open_machine: Open) -> Site:
    return open_machine("tiny")
