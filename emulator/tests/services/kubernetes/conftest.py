"""The API server without a network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from csm_emulator.site import Site
from services.kubernetes.api import Api


@pytest.fixture
def api(tiny: Site) -> Iterator[Api]:
    api = Api(tiny)
    with api.runner:
        yield api
