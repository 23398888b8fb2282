"""PCS on the machine ``tiny``."""

from __future__ import annotations

import pytest

from canton.emulator.site import Site
from emulator.power_client import Pcs


@pytest.fixture
def pcs(tiny: Site) -> Pcs:
    return Pcs(tiny)
