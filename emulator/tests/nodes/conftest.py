"""A machine with every kind of node."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.site import Site
from service_client import open_site


@pytest.fixture
def psi(tmp_path: Path) -> Site:
    return open_site(tmp_path / "state", "psi")
