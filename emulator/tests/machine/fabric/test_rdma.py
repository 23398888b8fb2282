"""RDMA: only the VNIs that the edge ports enforce keep tenants apart."""

from __future__ import annotations

from machine.fabric.network import FOUR, LEFT, ONE, THREE, TWO, Network


def passes(network: Network, source: str, target: str, vni: int) -> bool:
    return network.fabric.trace_rdma(source, target, vni).reached


def test_without_enforcement_every_vni_passes(network: Network) -> None:
    assert all(passes(network, ONE, THREE, vni) for vni in (1, 10, 1024, 65535))


def test_both_edge_ports_must_let_it_pass(network: Network) -> None:
    network.enforce(ONE, (1000, 1999))
    network.enforce(THREE, (1000, 1999))
    network.enforce(TWO, (2000, 2999))
    network.enforce(FOUR, (2000, 2999))
    assert passes(network, ONE, THREE, 1000)
    assert passes(network, TWO, FOUR, 2999)
    for vni in (1, 10, 999, 1000, 1999, 2000, 2999, 3000):
        assert not passes(network, ONE, TWO, vni), vni
        assert not passes(network, TWO, ONE, vni), vni
    assert network.fabric.trace_rdma(ONE, TWO, 1500).last_hop == network.port(TWO)
    assert network.fabric.trace_rdma(ONE, TWO, 2500).drop_reason == f"{network.port(ONE)} does not allow VNI 2500"


def test_a_port_without_enforcement_uses_any_vni(network: Network) -> None:
    network.enforce(ONE, (1000, 1999))
    assert passes(network, TWO, ONE, 1500)
    assert not passes(network, TWO, ONE, 10)


def test_several_ranges(network: Network) -> None:
    network.enforce(ONE, (10, 20), (40, 50))
    assert [vni for vni in range(1, 60) if passes(network, TWO, ONE, vni)] == [*range(10, 21), *range(40, 51)]


def test_vlans_do_not_count_and_links_do(network: Network) -> None:
    network.put_in(ONE, 100)
    network.put_in(THREE, 200)
    assert passes(network, ONE, THREE, 5)
    network.configure(THREE, online=False)
    assert network.fabric.trace_rdma(ONE, THREE, 5).drop_reason == f"{network.port(THREE)} is offline"
    network.configure(THREE, online=True)
    network.order(LEFT, "Off")
    network.step(10)
    assert network.fabric.trace_rdma(ONE, THREE, 5).drop_reason == f"{LEFT} has no power"
