"""Fixtures for tests of VCS."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from services.vcs.gitea_client import Gitea


@pytest.fixture
def gitea(site: Site) -> Gitea:
    return Gitea(site)
