"""The API server without a network."""

from __future__ import annotations

import pytest

from canton.emulator.site import Site
from emulator.kubernetes.api import Api


@pytest.fixture
def api(tiny: Site) -> Api:
    return Api(tiny)
