"""Fixtures for tests of Vault."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.vault.vault_client import Vault


@pytest.fixture
def vault(site: Site) -> Vault:
    return Vault(site)
