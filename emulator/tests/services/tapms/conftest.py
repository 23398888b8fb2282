from __future__ import annotations

from pathlib import Path

import pytest

from services.tapms.tenants_client import Tapms


@pytest.fixture
def tapms(tmp_path: Path) -> Tapms:
    return Tapms(tmp_path / "state")
