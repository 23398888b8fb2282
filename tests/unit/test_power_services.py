"""A power service that cannot be made fails the operations of its site, with the reason, until it can be made."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from canton.contracts.power import Power, PowerState
from canton.domain.errors import InvalidSetting, TemporaryFailure
from canton.drivers.demo.power import FolderPower
from canton.operations.power.services import PowerOfSite

NODE = "x1000c0s0b0n0"


def service(folder: Path) -> PowerOfSite:
    def make() -> Power:
        if not folder.is_dir():
            raise InvalidSetting(f"there is no folder {folder}")
        return FolderPower(folder)

    return PowerOfSite("alps", make)


def test_the_failure_names_the_site_and_keeps_the_path_for_the_provider(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    power = service(tmp_path / "power")
    power.prepare()
    assert f"site alps: its power service cannot be set up: there is no folder {tmp_path}" in caplog.text
    with pytest.raises(TemporaryFailure, match="of site alps cannot be set up") as failed:
        asyncio.run(power.states([NODE]))
    assert str(tmp_path) not in failed.value.message
    assert str(tmp_path) in failed.value.cause
    with pytest.raises(TemporaryFailure, match="of site alps"):
        asyncio.run(power.switch([NODE], PowerState.ON, lambda: None))


def test_it_is_made_once_it_can_be(tmp_path: Path) -> None:
    power = service(tmp_path / "power")
    power.prepare()
    (tmp_path / "power").mkdir()
    (tmp_path / "power" / NODE).write_text("off")
    assert asyncio.run(power.switch([NODE], PowerState.ON, lambda: None)) == {}
    assert asyncio.run(power.states([NODE])) == {NODE: PowerState.ON}
