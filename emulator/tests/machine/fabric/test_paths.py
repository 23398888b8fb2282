"""Paths between switches: the shortest, and the changes that affect them."""

from __future__ import annotations

import pytest

from machine.fabric.conftest import Open
from machine.fabric.network import DOWNLINK, FOUR, LEFT, ONE, RIGHT, THREE, TWO, UPLINK, Network


@pytest.fixture
def psi(open_network: Open) -> Network:
    return open_network("psi")


def far_pair(network: Network) -> tuple[str, str]:
    """Two NICs in different groups."""
    plan = network.fabric.plan
    first = network.nics[0]
    group = plan.ports[network.port(first)].switch.group
    return first, next(nic for nic in network.nics if plan.ports[network.port(nic)].switch.group != group)


def switches_on(path: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(port.partition("j")[0] for port in path))


def test_a_dragonfly_is_crossed_in_three_hops_at_most(psi: Network) -> None:
    source = psi.nics[0]
    for target in psi.nics[1:]:
        path = tuple(psi.walk(source, target).path)
        assert len(switches_on(path)) <= 4, path
        assert path[0] == psi.port(source)
        assert path[-1] == psi.port(target)
        for out, into in zip(path[1:-1:2], path[2:-1:2], strict=True):
            assert psi.machine.cable_end(out) == into


def test_a_link_that_goes_down_is_gone_round(psi: Network) -> None:
    source, target = far_pair(psi)
    first = tuple(psi.walk(source, target).path)
    tried = {first}
    for _ in range(4):
        last = tuple(psi.walk(source, target).path)
        psi.fabric.configure(last[1], "test", online=False)
        new_path = tuple(psi.walk(source, target).path)
        assert last[1] not in new_path
        assert new_path not in tried
        tried.add(new_path)
    for path in tried:
        psi.fabric.configure(path[1], "test", online=True)
    assert tuple(psi.walk(source, target).path) == first


def test_a_switch_that_loses_power_is_gone_round(psi: Network) -> None:
    source, target = far_pair(psi)
    path_before = tuple(psi.walk(source, target).path)
    middle = switches_on(path_before)[1]
    psi.order(middle, "Off")
    psi.step(10)
    path_after = tuple(psi.walk(source, target).path)
    assert path_after
    assert middle not in switches_on(path_after)
    psi.order(middle, "On")
    psi.step(10)
    assert tuple(psi.walk(source, target).path) == path_before


def test_without_the_only_cable_there_are_two_networks(network: Network) -> None:
    network.fabric.configure(DOWNLINK, "test", online=False)
    assert network.walk(ONE, THREE).drop_reason == f"{LEFT} has no path to {RIGHT}"
    assert network.reaches(ONE, TWO)
    assert network.reaches(THREE, FOUR)
    assert network.heard_by(ONE) == {nic for nic in network.nics if network.port(nic).startswith(LEFT)} - {ONE}


def test_a_link_may_carry_some_vlans_only(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(THREE, 100)
    network.fabric.configure(UPLINK, "test", allowed=frozenset({1}))
    assert network.walk(ONE, THREE).drop_reason == f"{LEFT} has no path to {RIGHT}"
    assert network.reaches(TWO, FOUR)
    assert network.heard_by(ONE) == set()
    assert network.fabric.trace_rdma(ONE, THREE, 5).reached


def test_swapped_cables_put_a_node_where_another_should_be(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(TWO, 200)
    network.put_in(THREE, 100)
    assert network.reaches(ONE, THREE)
    fault = network.fault("wrong-cabling", network.port(ONE), facts={"with": network.port(TWO)})
    assert not network.reaches(ONE, THREE)
    assert network.reaches(TWO, THREE)
    assert network.walk(TWO, THREE).path[0] == network.port(ONE)
    network.faults.clear(fault.id)
    assert network.reaches(ONE, THREE)
    assert not network.reaches(TWO, THREE)


def test_a_nic_in_a_port_for_switches_has_no_link_and_the_switches_have_none_either(network: Network) -> None:
    network.fault("wrong-cabling", network.port(ONE), facts={"with": UPLINK})
    assert network.walk(ONE, TWO).drop_reason == f"{UPLINK} is a fabric port, but a NIC is connected to it"
    assert network.walk(TWO, THREE).drop_reason == f"{LEFT} has no path to {RIGHT}"
    assert network.walk(THREE, TWO).drop_reason == f"{RIGHT} has no path to {LEFT}"


def test_a_cable_in_an_unconfigured_port(network: Network) -> None:
    spare = f"{LEFT}j5p1"
    network.fault("wrong-cabling", network.port(ONE), facts={"with": spare})
    assert network.walk(ONE, TWO).drop_reason == f"{spare} is offline"
    network.fault("port-drift", spare, facts={"online": True, "native": 1, "untagged": True})
    assert network.reaches(ONE, TWO)


def test_cables_between_switches_swapped_still_are_links(psi: Network) -> None:
    source, target = far_pair(psi)
    walk_before = psi.walk(source, target)
    one = walk_before.path[1]
    other_link = next(
        port.xname
        for port in psi.fabric.plan.ports.values()
        if not port.edge and port.switch.xname != one.partition("j")[0]
    )
    fault = psi.fault("wrong-cabling", one, facts={"with": other_link})
    walk_after = psi.walk(source, target)
    assert walk_after.reached
    assert all(
        psi.machine.cable_end(out) == into
        for out, into in zip(walk_after.path[1:-1:2], walk_after.path[2:-1:2], strict=True)
    )
    psi.faults.clear(fault.id)
    assert psi.walk(source, target) == walk_before
