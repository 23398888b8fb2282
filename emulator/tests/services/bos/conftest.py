"""BOS on the machine ``tiny``."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.bos.bos_client import Bos, StubbedServices


@pytest.fixture
def bos(tiny: Site) -> Bos:
    return Bos(tiny)


@pytest.fixture(scope="module")
def shared_bos(shared_tiny: Site) -> Bos:
    return Bos(shared_tiny)


@pytest.fixture
def stubs(bos: Bos) -> StubbedServices:
    return StubbedServices(bos.site)
