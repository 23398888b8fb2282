"""Machines without services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from csm_emulator.machine.topology import catalog as topologies
from machine.bare_machine import BareMachine


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[BareMachine]:
    """The topology ``tiny``: nodes x1000c0s0b0n0, x1000c0s0b0n1 and x1000c0s1b0n0 are up."""
    machine = BareMachine(tmp_path / "tiny.state", topologies.load("tiny"))
    yield machine
    machine.close()
