"""Fabric Managers without a network."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.fabric_manager.manager import Manager


@pytest.fixture
def manager(tiny: Site) -> Manager:
    return Manager(tiny)


@pytest.fixture(scope="module")
def shared_manager(shared_tiny: Site) -> Manager:
    return Manager(shared_tiny)
