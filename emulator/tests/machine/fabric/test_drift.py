"""A switch port is changed without the Fabric Manager."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.errors import EmulatorError, NotFound
from machine.fabric.network import FOUR, ONE, RIGHT, THREE, TWO, Network


def drift(network: Network, targets: str, **facts: Any) -> None:
    network.fault("port-drift", targets, facts=facts)


def test_it_is_carried_out_when_it_is_set(network: Network) -> None:
    drift(network, network.port(ONE), native=100.0, allowed="100, 200", untagged="true")
    state = network.fabric.state(network.port(ONE))
    assert (state.native, state.allowed, state.untagged, state.online) == (100, frozenset({100, 200}), True, True)
    (line,) = [line for line in network.lines() if line["what"] == "port-changed"]
    assert (line["target"], line["cause"], line["allowed"]) == (network.port(ONE), "fault port-drift", [100, 200])


def test_only_what_is_named_changes(network: Network) -> None:
    state_before = network.fabric.state(network.port(ONE))
    drift(network, network.port(ONE), online="no")
    state_after = network.fabric.state(network.port(ONE))
    assert not state_after.online
    assert (state_after.native, state_after.allowed, state_after.vnis) == (
        state_before.native,
        state_before.allowed,
        state_before.vnis,
    )


def test_several_ports_a_trunk_of_everything_and_vnis(network: Network) -> None:
    drift(network, f"{RIGHT}j1p[0-1]", allowed="all", vnis="10-20,30")
    for nic in (THREE, FOUR):
        state = network.fabric.state(network.port(nic))
        assert (state.allowed, state.vnis) == (None, ((10, 20), (30, 30)))
    drift(network, "*", vnis="all", native="none")
    assert network.fabric.state(network.port(THREE)).vnis is None
    assert network.fabric.state(network.port(TWO)).native is None


def test_it_has_happened_and_there_is_nothing_to_clear(network: Network) -> None:
    fault = network.fault("port-drift", network.port(ONE), facts={"online": False})
    assert list(network.faults) == []
    with pytest.raises(NotFound):
        network.faults.clear(fault.id)
    assert not network.fabric.state(network.port(ONE)).online


@pytest.mark.parametrize(
    ("targets", "facts"),
    [
        ("x1000c0r3j1p0", {}),
        ("x1000c0r3j1p0", {"colour": "red"}),
        ("x1000c0r3j1p0", {"native": 0}),
        ("x1000c0r3j1p0", {"native": 4095}),
        ("x1000c0r3j1p0", {"native": 1.5}),
        ("x1000c0r3j1p0", {"native": "nan"}),
        ("x1000c0r3j1p0", {"native": "inf"}),
        ("x1000c0r3j1p0", {"native": True}),
        ("x1000c0r3j1p0", {"allowed": "1,x"}),
        ("x1000c0r3j1p0", {"allowed": [[1]]}),
        ("x1000c0r3j1p0", {"allowed": {"a": 1}}),
        ("x1000c0r3j1p0", {"online": "perhaps"}),
        ("x1000c0r3j1p0", {"vnis": "0-5"}),
        ("x1000c0r3j1p0", {"vnis": "5-70000"}),
        ("x1000c0r3j33p0", {"online": True}),
        ("x1000c0r3j0p0", {"online": True}),
        ("x1000c0r3j1p2", {"online": True}),
        ("x1000c0r3j01p0", {"online": True}),
        ("x1000c0s0b0n0h0", {"online": True}),
        ("x1000c0r9j1p0", {"online": True}),
        ("x[", {"online": True}),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(network: Network, targets: str, facts: dict[str, Any]) -> None:
    contents_before = network.contents()
    with pytest.raises(EmulatorError):
        network.fault("port-drift", targets, facts=facts)
    contents_after = network.contents()
    contents_before.pop("faults.numbers"), contents_after.pop("faults.numbers")
    assert contents_after == contents_before
