"""CAPMC on the machine ``tiny``."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from service_client import Service


@pytest.fixture
def capmc(tiny: Site) -> Service:
    return Service(tiny, "capmc", "/capmc/v1")
