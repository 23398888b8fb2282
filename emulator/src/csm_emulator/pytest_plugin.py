"""Fixtures for other projects: ``pytest_plugins = ["csm_emulator.pytest_plugin"]`` in their ``conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from csm_emulator.process import Emulator, emulate


@pytest.fixture
def cray_ex() -> Iterator[Emulator]:
    """A small machine for each test; its time stands still until ``step``."""
    with emulate("tiny", "--speed", "0") as machine:
        yield machine


@pytest.fixture(scope="session")
def shared_cray_ex() -> Iterator[Emulator]:
    """One machine for all tests of a session; its time runs a hundred times as fast as real time."""
    with emulate("psi", "--speed", "100") as machine:
        yield machine
