"""Frames with and without tags, from NIC to NIC."""

from __future__ import annotations

import pytest

from csm_emulator.machine.fabric.ports import DEFAULT_VLAN
from machine.fabric.network import DOWNLINK, FOUR, LEFT, ONE, RIGHT, THREE, TWO, UNPLUGGED, UPLINK, Network


def test_on_a_new_site_every_node_reaches_every_other(network: Network) -> None:
    assert len(network.nics) == 8
    assert len(network.crossing(network.nics, network.nics, None)) == 8 * 7
    assert network.heard_by(ONE) == set(network.nics) - {ONE}


def test_a_frame_names_the_ports_on_its_way(network: Network) -> None:
    near = network.walk(ONE, TWO)
    assert list(near.path) == [network.port(ONE), network.port(TWO)]
    far = network.walk(ONE, THREE)
    assert list(far.path) == [network.port(ONE), UPLINK, DOWNLINK, network.port(THREE)]
    assert (far.last_hop, far.drop_reason, far.egress_tagging, far.vlan) == (THREE, "", "untagged", DEFAULT_VLAN)


def test_nothing_comes_back_out_of_the_port_that_it_came_in_at(network: Network) -> None:
    assert not network.reaches(ONE, ONE)
    assert ONE not in network.heard_by(ONE)


def test_tenants_in_two_vlans_do_not_reach_one_another(network: Network) -> None:
    for nic, vlan in ((ONE, 100), (THREE, 100), (TWO, 200), (FOUR, 200)):
        network.put_in(nic, vlan)
    assert network.crossing((ONE, THREE), (TWO, FOUR), None) == set()
    assert network.crossing((TWO, FOUR), (ONE, THREE), None) == set()
    assert network.reaches(ONE, THREE)
    assert network.reaches(FOUR, TWO)
    assert network.heard_by(ONE) == {THREE}


def test_no_tag_hops_into_another_vlan(network: Network) -> None:
    for nic, vlan in ((ONE, 100), (THREE, 100), (TWO, 200), (FOUR, 200)):
        network.put_in(nic, vlan)
    for tag in range(4096):
        assert network.crossing((ONE, THREE), (TWO, FOUR), tag) == set(), tag
    stopped = network.walk(ONE, TWO, 200)
    assert (stopped.last_hop, stopped.vlan) == (network.port(ONE), None)
    assert stopped.drop_reason == f"{network.port(ONE)} accepts no frames of VLAN 200"


def test_a_tag_of_the_own_vlan_is_taken_and_comes_out_without(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(THREE, 100)
    assert network.walk(ONE, THREE, 100).egress_tagging == "untagged"


def test_a_priority_tag_is_no_tag(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(THREE, 100)
    assert network.walk(ONE, THREE, 0).vlan == 100


def test_a_trunk_gets_frames_with_their_tag(network: Network) -> None:
    network.put_in(ONE, 100)
    network.configure(THREE, native=1, allowed=frozenset({100, 200}), untagged=True)
    assert network.walk(ONE, THREE).egress_tagging == "tagged"
    assert network.walk(THREE, ONE, 100).egress_tagging == "untagged"
    assert not network.reaches(THREE, ONE)
    assert not network.reaches(THREE, ONE, 200)


def test_where_untagged_is_not_allowed_nothing_without_a_tag_goes_in_or_out(network: Network) -> None:
    network.put_in(ONE, 100)
    network.configure(THREE, native=100, allowed=frozenset({100}), untagged=False)
    assert network.walk(THREE, ONE).drop_reason == f"{network.port(THREE)} accepts no untagged frames"
    assert network.walk(THREE, ONE, 100).reached
    assert network.walk(ONE, THREE).egress_tagging == "tagged"
    network.configure(THREE, allowed=frozenset())
    assert network.walk(ONE, THREE).drop_reason == f"{network.port(THREE)} sends no frames of VLAN 100"


def test_a_native_vlan_that_is_not_allowed_leaks_untagged_frames_all_the_same(network: Network) -> None:
    """A policy that names the allowed VLANs and leaves the native one as it was, which is an easy mistake."""
    network.configure(ONE, native=DEFAULT_VLAN, allowed=frozenset({100}), untagged=True)
    network.configure(TWO, native=DEFAULT_VLAN, allowed=frozenset({200}), untagged=True)
    assert network.reaches(ONE, TWO)
    assert not network.reaches(ONE, TWO, DEFAULT_VLAN)
    network.configure(TWO, untagged=False)
    assert not network.reaches(ONE, TWO)


def test_a_port_of_every_vlan_reaches_every_tenant(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(TWO, 200)
    network.configure(FOUR, allowed=None)
    assert network.reaches(FOUR, ONE, 100)
    assert network.reaches(FOUR, TWO, 200)
    assert not network.reaches(FOUR, ONE)


@pytest.mark.parametrize("nic", [ONE, THREE])
def test_a_port_that_is_offline_passes_nothing_in_either_direction(network: Network, nic: str) -> None:
    network.configure(nic, online=False)
    for target in set(network.nics) - {nic}:
        assert network.walk(nic, target).drop_reason == f"{network.port(nic)} is offline"
        assert network.walk(target, nic).drop_reason == f"{network.port(nic)} is offline"
    assert network.heard_by(nic) == set()
    assert nic not in network.heard_by(FOUR)


def test_a_nic_without_a_cable_reaches_no_other(network: Network) -> None:
    assert network.walk(UNPLUGGED, ONE).drop_reason == f"{UNPLUGGED} has no cable to a switch"
    assert network.walk(ONE, UNPLUGGED).last_hop == UNPLUGGED
    assert network.walk("x9c0s0b0n0h0", ONE).last_hop == "x9c0s0b0n0h0"


def test_a_switch_without_power_passes_nothing(network: Network) -> None:
    network.order(RIGHT, "Off")
    network.step(10)
    assert network.walk(ONE, THREE).drop_reason == f"{RIGHT} has no power"
    assert network.walk(THREE, FOUR).drop_reason == f"{RIGHT} has no power"
    assert network.fabric.links().zone(LEFT, None) != network.fabric.links().zone(RIGHT, None)
    assert network.reaches(ONE, TWO)
    network.order(RIGHT, "On")
    network.step(10)
    assert network.reaches(ONE, THREE)


def test_nodes_need_no_power_to_be_asked_about(network: Network) -> None:
    node = ONE[:-2]
    network.order(node, "ForceOff")
    network.step(10)
    assert network.power.state(node) == "off"
    assert network.reaches(ONE, THREE)
