"""CAPMC on the machine ``tiny``."""

from __future__ import annotations

import pytest

from canton.emulator.site import Site
from emulator.power_client import Client


@pytest.fixture
def capmc(tiny: Site) -> Client:
    return Client(tiny, "capmc", "/capmc/v1")
