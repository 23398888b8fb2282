"""The driver for PCS, against the emulator: the wire is real, the machine is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from canton.contracts.power import PowerState
from canton.domain.errors import InvalidSetting, LeaseLost, PermanentFailure, TemporaryFailure
from canton.drivers.csm.gateway import Access, Gateway
from canton.drivers.csm.power import PcsPower
from csm_emulator.process import Emulator, emulate

ON, OFF = "x1000c0s0b0n0", "x1000c0s1b1n1"
NOBODY = "x1000c0s7b0n0"


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as machine:
        yield machine


@pytest.fixture
def machine(running: Emulator) -> Iterator[Emulator]:
    yield running
    running.clear()


@pytest.fixture
def secret(machine: Emulator, tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(machine.clients["admin-client"] + "\n")
    return file


@pytest.fixture
def power(machine: Emulator, secret: Path) -> PcsPower:
    return PcsPower(Gateway(Access(machine.url, "admin-client", secret, Path(machine.ca or ""))))


def ours() -> None:
    """The lease is held."""


def orders(machine: Emulator, node: str) -> int:
    return sum(entry["what"] == "power-order" and entry["target"] == node for entry in machine.log())


def test_states_are_seen_in_one_call(machine: Emulator, power: PcsPower) -> None:
    up = [part["xname"] for part in machine.ask_control("GET", "/parts?type=Node")["parts"] if part["power"] == "on"]
    seen = asyncio.run(power.states([*up, OFF, NOBODY]))
    assert {seen[node] for node in up} == {PowerState.ON}
    assert seen[OFF] is PowerState.OFF
    assert isinstance(seen[NOBODY], PermanentFailure)


def test_a_node_is_switched_on_and_off(machine: Emulator, power: PcsPower) -> None:
    assert asyncio.run(power.switch([OFF], PowerState.ON, ours)) == {}
    machine.step(120)
    assert asyncio.run(power.states([OFF]))[OFF] is PowerState.ON
    assert asyncio.run(power.switch([OFF], PowerState.OFF, ours)) == {}
    machine.step(600)
    assert asyncio.run(power.states([OFF]))[OFF] is PowerState.OFF


def test_a_lost_lease_stops_the_request_before_it_leaves(machine: Emulator, power: PcsPower) -> None:
    def lost() -> None:
        raise LeaseLost("another worker has it")

    before = orders(machine, OFF)
    with pytest.raises(LeaseLost):
        asyncio.run(power.switch([OFF], PowerState.ON, lost))
    machine.step(120)
    assert orders(machine, OFF) == before


def test_a_controller_that_does_not_answer_leaves_power_unknown(machine: Emulator, power: PcsPower) -> None:
    machine.fault("bmc-unreachable", "x1000c0s1b1")
    machine.step(60)
    assert asyncio.run(power.states([OFF]))[OFF] is PowerState.UNKNOWN


@pytest.mark.parametrize(
    ("fault", "facts"), [("lost-response", {}), ("server-error", {"status": 503}), ("server-error", {"status": 500})]
)
def test_trouble_on_the_wire_is_temporary(
    machine: Emulator, power: PcsPower, fault: str, facts: dict[str, int]
) -> None:
    asyncio.run(power.states([OFF]))
    machine.fault(fault, "pcs", remaining=1, facts=facts)
    with pytest.raises(TemporaryFailure):
        asyncio.run(power.switch([OFF], PowerState.OFF, ours))


def test_an_expired_token_is_replaced_without_a_word(machine: Emulator, power: PcsPower) -> None:
    asyncio.run(power.states([OFF]))
    machine.fault("token-expiry", "keycloak")
    machine.clear()
    asyncio.run(power.states([OFF]))


def test_a_wrong_secret_is_said(machine: Emulator, power: PcsPower, secret: Path) -> None:
    secret.write_text("wrong")
    with pytest.raises(PermanentFailure, match="no token") as refusal:
        asyncio.run(power.states([OFF]))
    assert str(secret) in refusal.value.cause


def test_nobody_there_is_temporary(secret: Path) -> None:
    power = PcsPower(Gateway(Access("http://127.0.0.1:1", "admin-client", secret)))
    with pytest.raises(TemporaryFailure, match="no answer"):
        asyncio.run(power.states([OFF]))


def test_an_authority_that_is_not_ours_is_not_believed(machine: Emulator, secret: Path) -> None:
    power = PcsPower(Gateway(Access(machine.url, "admin-client", secret)))
    with pytest.raises(TemporaryFailure, match="no answer") as failure:
        asyncio.run(power.states([OFF]))
    assert "certificate" in failure.value.cause


@pytest.mark.parametrize("url", ["", "ftp://x", "https://", "api.example.org"])
def test_what_is_no_address_is_refused_at_the_start(url: str, secret: Path) -> None:
    with pytest.raises(InvalidSetting):
        Gateway(Access(url, "admin-client", secret))


def test_a_refusal_names_the_role_that_is_missing(machine: Emulator, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(machine.clients["wlm-client"])
    power = PcsPower(Gateway(Access(machine.url, "wlm-client", file, Path(machine.ca or ""))))
    with pytest.raises(PermanentFailure, match="refuses Canton's account") as refusal:
        asyncio.run(power.switch([OFF], PowerState.ON, ours))
    assert "role admin" in refusal.value.cause
