"""What tests of running sessions begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.cfs_runs.lab import Lab
from emulator.service_client import open_site


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Nobody asks for a configuration but the tests: the batcher is off."""
    lab = Lab(open_site(tmp_path / "tiny.state"))
    lab.do("PATCH", "/options", {"batcher_disable": True})
    return lab
