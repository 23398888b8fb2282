"""What tests of Vault begin with."""

from __future__ import annotations

import pytest

from canton.emulator.site import Site
from emulator.vault.vault_client import Vault


@pytest.fixture
def vault(site: Site) -> Vault:
    return Vault(site)
