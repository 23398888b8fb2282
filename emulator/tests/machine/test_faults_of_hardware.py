"""Faults that are state of the machine: cables in wrong ports, files of the last tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.disks import Remnants
from csm_emulator.machine.topology import catalog as topologies
from machine.bare_machine import BareMachine

ONE, OTHER = "x1000c0r3j1p0", "x1000c0r7j1p0"
ONE_NIC, OTHER_NIC = "x1000c0s0b0n0h0", "x1000c0s0b0n1h0"
LINK, LINK_END = "x1000c0r3j9p0", "x1000c0r7j9p0"
FREE = "x1000c0r3j20p0"


def test_cables_lead_both_ways(bare: BareMachine) -> None:
    for cable in bare.machine.topology.cables:
        assert bare.machine.cable_end(cable.port) == cable.end
        assert bare.machine.cable_end(cable.end) == cable.port
    assert bare.machine.cable_end(FREE) is None
    assert bare.machine.cable_end("nonsense") is None


def test_two_cables_that_changed_places(bare: BareMachine) -> None:
    fault = bare.fault("wrong-cabling", ONE, facts={"with": OTHER})
    assert bare.machine.cable_end(ONE) == OTHER_NIC
    assert bare.machine.cable_end(OTHER_NIC) == ONE
    assert bare.machine.cable_end(OTHER) == ONE_NIC
    assert bare.machine.cable_end(ONE_NIC) == OTHER
    assert bare.machine.cable_end(LINK) == LINK_END
    bare.faults.clear(fault.id)
    assert bare.machine.cable_end(ONE) == ONE_NIC


def test_a_cable_between_switches_that_took_an_edge_port(bare: BareMachine) -> None:
    bare.fault("wrong-cabling", LINK, facts={"with": ONE})
    assert bare.machine.cable_end(ONE) == LINK_END
    assert bare.machine.cable_end(LINK_END) == ONE
    assert bare.machine.cable_end(ONE_NIC) == LINK


def test_a_cable_in_a_free_port(bare: BareMachine) -> None:
    bare.fault("wrong-cabling", ONE, facts={"with": FREE})
    assert bare.machine.cable_end(ONE) is None
    assert bare.machine.cable_end(FREE) == ONE_NIC


def test_cables_that_changed_places_twice_still_have_two_ends_each(bare: BareMachine) -> None:
    bare.fault("wrong-cabling", ONE, facts={"with": OTHER})
    bare.fault("wrong-cabling", OTHER, facts={"with": LINK})
    ports = {end for cable in bare.machine.topology.cables for end in (cable.port, cable.end)}
    ends = {port: bare.machine.cable_end(port) for port in ports}
    assert set(ends.values()) == ports
    assert all(ends[str(end)] == port for port, end in ends.items())
    # First the plugs of ONE and OTHER are swapped, then the plug that is in OTHER now and that of LINK.
    assert (ends[ONE], ends[OTHER], ends[LINK]) == (OTHER_NIC, LINK_END, ONE_NIC)


@pytest.mark.parametrize(
    ("targets", "facts"),
    [
        (ONE, {}),
        ("*", {"with": OTHER}),
        (f"{ONE},{LINK}", {"with": OTHER}),
        (ONE, {"with": "x1000c0s0b0n0"}),
        (ONE, {"with": "nonsense"}),
        (ONE, {"with": 7}),
        ("x1000c0r3", {"with": OTHER}),
    ],
)
def test_a_swap_has_two_ports(bare: BareMachine, targets: str, facts: dict[str, Any]) -> None:
    with pytest.raises(InvalidMachine, match="swaps the cables of two ports"):
        bare.fault("wrong-cabling", targets, facts=facts)
    assert list(bare.faults) == []


@pytest.mark.parametrize("stage", ["up", "", None, 3, "Kernel"])
def test_a_boot_hangs_at_a_stage_that_there_is(bare: BareMachine, stage: Any) -> None:
    with pytest.raises(InvalidMachine, match="post or pxe or kernel or systemd"):
        bare.fault("boot-hangs", "*", facts={"stage": stage})


def test_remnants_are_on_the_disks_of_nodes_that_have_some(tmp_path: Path) -> None:
    psi = BareMachine(tmp_path / "psi.state", topologies.load("psi"))
    with_disk, without = "x1100c0s0b0n0", "x1000c0s0b0n0"
    assert psi.machine.remnants(with_disk) is None
    psi.fault("disk-remnants", f"{with_disk},{without}", facts={"of": "psi"})
    assert psi.machine.remnants(with_disk) == Remnants("psi", (f"{with_disk}g0k0",))
    assert psi.machine.remnants(without) is None
    assert psi.machine.remnants("x1100c0s0b1n0") is None
    assert psi.machine.remnants("nonsense") is None
    psi.close()
