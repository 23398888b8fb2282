"""Pings between nodes."""

from __future__ import annotations

import pytest

from machine.fabric.network import ONE, THREE, Network

NODE, OTHER, SLEEPING, MASTER = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x3000c0s1b0n0"


def address(network: Network, owner: str, kind: str = "HSN") -> str:
    return next(nic.address for nic in network.machine.nics(owner) if nic.network == kind)


@pytest.fixture(autouse=True)
def stages(network: Network) -> None:
    assert [network.boot.stage(node) for node in (NODE, OTHER, SLEEPING, MASTER)] == ["up", "up", "off", "up"]


def test_nodes_that_are_up_answer(network: Network) -> None:
    packet = network.fabric.packet(NODE, address(network, OTHER))
    assert packet.reached
    assert packet.path[0] == network.port(ONE)
    assert packet.path[-1] == network.port(THREE)
    assert 10e-6 < packet.seconds < 1e-3


def test_every_ping_takes_another_time_and_the_same_one_always_the_same(network: Network) -> None:
    times = [network.fabric.packet(NODE, address(network, OTHER), number=number).seconds for number in range(20)]
    second_run = [network.fabric.packet(NODE, address(network, OTHER), number=number).seconds for number in range(20)]
    assert times == second_run
    assert len(set(times)) == 20


def test_who_is_not_up_neither_sends_nor_answers(network: Network) -> None:
    assert network.fabric.packet(NODE, address(network, SLEEPING)).failure_reason == f"{SLEEPING} is not up"
    assert network.fabric.packet(SLEEPING, address(network, NODE)).failure_reason == f"{SLEEPING} is not up"
    network.order(SLEEPING, "On")
    network.step(600)
    assert network.fabric.packet(NODE, address(network, SLEEPING)).reached


def test_vlans_divide_ip(network: Network) -> None:
    network.put_in(ONE, 100)
    assert not network.fabric.packet(NODE, address(network, OTHER)).reached
    network.put_in(THREE, 100)
    assert network.fabric.packet(NODE, address(network, OTHER)).reached


def test_a_kernel_without_an_interface_for_the_tag_drops_frames(network: Network) -> None:
    network.put_in(ONE, 100)
    network.configure(THREE, native=1, allowed=frozenset({100}), untagged=True)
    packet = network.fabric.packet(NODE, address(network, OTHER))
    assert packet.failure_reason == f"{THREE} receives the frames with the tag 100 and has no interface for them"


def test_an_interface_for_a_vlan_gets_tagged_frames_only(network: Network) -> None:
    for nic in (ONE, THREE):
        network.configure(nic, native=1, allowed=frozenset({100}), untagged=True)
    assert network.fabric.packet(NODE, address(network, OTHER), vlan=100).reached
    network.put_in(ONE, 100)
    packet = network.fabric.packet(NODE, address(network, OTHER), vlan=100)
    assert packet.failure_reason == f"{ONE} receives the frames without a tag and has no interface for them"


def test_the_answer_to_an_untagged_frame_is_untagged(network: Network) -> None:
    """A trunk with an interface for the VLAN, and an access port, which accepts no tags."""
    network.configure(ONE, native=1, allowed=frozenset({100}), untagged=True)
    network.configure(THREE, native=100, allowed=frozenset(), untagged=True)
    assert network.fabric.packet(NODE, address(network, OTHER), vlan=100).reached
    assert not network.fabric.packet(OTHER, address(network, NODE)).reached


def test_a_tag_is_not_taken_for_another(network: Network) -> None:
    network.configure(ONE, native=1, allowed=frozenset({100, 200}), untagged=True)
    network.put_in(THREE, 100)
    assert network.fabric.packet(NODE, address(network, OTHER), vlan=100).reached
    network.put_in(THREE, 200)
    assert not network.fabric.packet(NODE, address(network, OTHER), vlan=100).reached
    assert network.fabric.packet(NODE, address(network, OTHER), vlan=200).reached


def test_the_management_network_is_flat(network: Network) -> None:
    network.configure(ONE, online=False)
    for node in (OTHER, MASTER):
        packet = network.fabric.packet(NODE, address(network, node, "NMN"))
        assert packet.reached
        assert packet.seconds > 100e-6
        assert packet.path == ()
    assert not network.fabric.packet(NODE, address(network, SLEEPING, "NMN")).reached


def test_addresses_of_others(network: Network) -> None:
    assert network.fabric.packet(NODE, address(network, NODE)).seconds < 100e-6
    assert not network.fabric.packet(NODE, address(network, "x1000c0s0b0", "HMN")).reached
    assert network.fabric.packet(NODE, "10.253.9.9").failure_reason == "no node has the address 10.253.9.9"
    assert network.fabric.packet("x9c0", address(network, NODE)).failure_reason == "x9c0 is not up"
    assert not network.fabric.packet(MASTER, address(network, NODE)).reached


def test_without_a_link_there_is_no_way(network: Network) -> None:
    network.configure(ONE, online=False)
    packet = network.fabric.packet(NODE, address(network, OTHER))
    assert packet.failure_reason == f"{NODE} has no link on the high-speed network"
