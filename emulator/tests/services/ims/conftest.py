"""IMS on the machine ``tiny``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.ims.ims_client import Ims


@pytest.fixture
def ims(tmp_path: Path) -> Ims:
    return Ims.open(tmp_path / "state")


@pytest.fixture(scope="module")
def shared_ims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ims]:
    """A machine for tests whose requests are refused."""
    opened = Ims.open(tmp_path_factory.mktemp("shared") / "state")
    yield opened
    opened.site.state_file.close()
