"""Fixtures for tests of running sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from service_client import open_site
from services.cfs_runs.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """The batcher is off, so that only the tests create sessions."""
    lab = Lab(open_site(tmp_path / "tiny.state"))
    lab.do("PATCH", "/options", {"batcher_disable": True})
    return lab
