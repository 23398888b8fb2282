"""HSM of an empty machine and of a small one."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.smd.hsm_client import Hsm


@pytest.fixture
def hsm(site: Site) -> Hsm:
    return Hsm(site)


@pytest.fixture
def tiny_hsm(tiny: Site) -> Hsm:
    return Hsm(tiny)
