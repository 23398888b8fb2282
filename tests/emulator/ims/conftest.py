from __future__ import annotations

from pathlib import Path

import pytest

from emulator.ims.ims_client import Ims


@pytest.fixture
def ims(tmp_path: Path) -> Ims:
    return Ims.open(tmp_path / "state")
