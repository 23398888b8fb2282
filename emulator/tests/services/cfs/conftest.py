"""CFS on a machine that runs no sessions, with a VCS and a TAPMS that the tests fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from csm_emulator.services.cfs import routes
from csm_emulator.site import Site
from service_client import open_site
from services.cfs.cfs_client import Cfs, RunnerRecorder

Open = Callable[[str], Cfs]


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SessionRuns", RunnerRecorder)


@pytest.fixture
def open_cfs(tmp_path: Path) -> Open:
    def start(name: str) -> Cfs:
        return Cfs(open_site(tmp_path / f"{name}.state", name))

    return start


@pytest.fixture
def cfs(open_cfs: Open) -> Cfs:
    return open_cfs("tiny")


@pytest.fixture(scope="module")
def shared_cfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cfs]:
    """A machine for tests whose requests are refused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "SessionRuns", RunnerRecorder)
        opened = Cfs(open_site(tmp_path_factory.mktemp("shared") / "tiny.state"))
        yield opened
        opened.site.state_file.close()


@pytest.fixture
def site(cfs: Cfs) -> Site:
    return cfs.site
