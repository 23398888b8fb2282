"""PCS on the machine ``tiny``."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from power_client import Pcs


@pytest.fixture
def pcs(tiny: Site) -> Pcs:
    return Pcs(tiny)
