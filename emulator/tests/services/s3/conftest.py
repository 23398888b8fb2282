from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.s3.s3_caller import Caller


@pytest.fixture
def s3(tiny: Site) -> Caller:
    return Caller(tiny)
