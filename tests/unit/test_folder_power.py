"""The demo's power service: a folder that outlives every process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from canton.contracts.power import Power, PowerState
from canton.domain.errors import LeaseLost, PermanentFailure, TemporaryFailure
from canton.drivers.demo.power import FolderPower

ONE, TWO, GONE = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b0n2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ONE).write_text("off\n")
    (tmp_path / TWO).write_text("humming")
    return tmp_path


def ours() -> None:
    """A guard that lets every act pass."""


def test_states_are_read_from_the_files(folder: Path) -> None:
    power: Power = FolderPower(folder)
    states = asyncio.run(power.states([ONE, TWO, GONE]))
    assert (states[ONE], states[TWO]) == (PowerState.OFF, PowerState.UNKNOWN)
    unknown = states[GONE]
    assert isinstance(unknown, PermanentFailure)
    assert str(folder) in unknown.cause
    assert str(folder) not in unknown.message


def test_known_nodes_are_switched_and_unknown_ones_refused(folder: Path) -> None:
    refusals = asyncio.run(FolderPower(folder).switch([ONE, GONE, TWO], PowerState.ON, ours))
    assert refusals.keys() == {GONE}
    assert {path.name: path.read_text() for path in folder.iterdir()} == {ONE: "on", TWO: "on"}


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", ".", ""])
def test_no_name_leads_out_of_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("on")
    power = FolderPower(folder)
    assert isinstance(asyncio.run(power.states([name]))[name], PermanentFailure)
    assert asyncio.run(power.switch([name], PowerState.OFF, ours)).keys() == {name}
    assert (folder.parent / "secret").read_text() == "on"


def test_a_worker_that_was_replaced_stops_between_two_nodes(folder: Path) -> None:
    remaining_seconds = iter([None])

    def once() -> None:
        if next(remaining_seconds, "gone") == "gone":
            raise LeaseLost("taken over")

    with pytest.raises(LeaseLost):
        asyncio.run(FolderPower(folder).switch([ONE, TWO], PowerState.ON, once))
    assert {path.name: path.read_text() for path in folder.iterdir()} == {ONE: "on", TWO: "humming"}


def test_a_folder_that_is_gone_may_come_back(folder: Path) -> None:
    (folder / ONE).unlink()
    (folder / ONE).mkdir()
    with pytest.raises(TemporaryFailure):
        asyncio.run(FolderPower(folder).states([ONE]))
