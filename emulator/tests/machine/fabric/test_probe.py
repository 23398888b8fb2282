"""Probes of the control API: pairs, groups, and ports that differ from the documents."""

from __future__ import annotations

import time
from typing import Any

import pytest

from csm_emulator.control_api.fabric_probe import describe_ports, probe
from csm_emulator.errors import EmulatorError
from machine.fabric.conftest import Open
from machine.fabric.network import FOUR, LEFT, ONE, RIGHT, THREE, TWO, UNPLUGGED, UPLINK, Network

BLUE, GREEN = [ONE, THREE], [TWO, FOUR]


def between(result: dict[str, Any], one: str, target: str) -> dict[str, Any]:
    (match,) = [pair for pair in result["between"] if (pair["from"], pair["to"]) == (one, target)]
    return dict(match)


def part(network: Network) -> None:
    for nic in BLUE:
        network.put_in(nic, 100)
        network.enforce(nic, (2000, 2099))
    for nic in GREEN:
        network.put_in(nic, 200)
        network.enforce(nic, (3000, 3099))


def test_every_pair_has_its_reason(network: Network) -> None:
    part(network)
    result = probe(network.machine, {"from": BLUE, "to": [*BLUE, *GREEN]})
    assert result["counts"] == {"pairs": 6, "reached": 2}
    assert (result["kind"], result["vlan"], result["vni"]) == ("ethernet", None, None)
    reached = {(pair["from"], pair["to"]) for pair in result["pairs"] if pair["reached"]}
    assert reached == {(ONE, THREE), (THREE, ONE)}
    stopped = next(pair for pair in result["pairs"] if pair["to"] == TWO)
    assert stopped["why"] == f"{network.port(TWO)} sends no frames of VLAN 100"
    assert stopped["carried"] == 100


def test_tags_and_vnis(network: Network) -> None:
    part(network)
    tagged = probe(network.machine, {"from": ONE, "to": TWO, "vlan": 200})
    assert tagged["pairs"][0]["at"] == network.port(ONE)
    inside = probe(network.machine, {"from": BLUE, "to": [*BLUE, *GREEN], "kind": "vni", "vni": 2050})
    assert inside["counts"] == {"pairs": 6, "reached": 2}
    network.configure(TWO, vnis=None)
    leaking = probe(network.machine, {"from": BLUE, "to": GREEN, "kind": "vni", "vni": 2050})
    assert {pair["to"] for pair in leaking["pairs"] if pair["reached"]} == {TWO}


def test_nodes_stand_for_their_nics_and_nodesets_for_nodes(network: Network) -> None:
    result = probe(network.machine, {"from": "x1000c0s0b0n[0-1]", "to": ["x1000c0s0b1n0", FOUR]})
    assert {(pair["from"], pair["to"]) for pair in result["pairs"]} == {
        (ONE, TWO),
        (ONE, FOUR),
        (THREE, TWO),
        (THREE, FOUR),
    }


def test_pings_are_between_nodes_that_are_up(network: Network) -> None:
    nodes = "x1000c0s0b[0-1]n[0-1]"
    result = probe(network.machine, {"from": nodes, "to": nodes, "kind": "ip"})
    assert result["counts"] == {"pairs": 12, "reached": 2}
    reached_pair = next(pair for pair in result["pairs"] if pair["reached"])
    assert reached_pair["seconds"] > 0
    assert reached_pair["address"] == "10.253.0.11"
    grouped = between(probe(network.machine, {"groups": {"all": nodes}, "kind": "ip"}), "all", "all")
    assert (grouped["pairs"], grouped["reached"]) == (12, 2)
    assert grouped["stopped"]["why"].endswith("is not up")


def test_groups_tell_how_many_and_one_of_each(network: Network) -> None:
    part(network)
    result = probe(network.machine, {"groups": {"blue": BLUE, "green": GREEN, "out": UNPLUGGED}})
    assert result["groups"] == {"blue": {"nics": 2}, "green": {"nics": 2}, "out": {"nics": 1}}
    assert len(result["between"]) == 9
    own = between(result, "blue", "blue")
    assert (own["pairs"], own["reached"], own["stopped"]) == (2, 2, None)
    assert own["reaching"]["path"][1] == UPLINK
    across = between(result, "blue", "green")
    assert (across["pairs"], across["reached"], across["reaching"]) == (4, 0, None)
    assert across["stopped"]["why"]
    assert between(result, "out", "out")["pairs"] == 0


def test_one_port_of_another_vlan_is_found_in_groups(network: Network) -> None:
    part(network)
    network.fault("port-drift", network.port(FOUR), facts={"allowed": "100,200"})
    result = probe(network.machine, {"groups": {"blue": BLUE, "green": GREEN}})
    across = between(result, "blue", "green")
    assert (across["pairs"], across["reached"]) == (4, 2)
    assert (across["reaching"]["to"], across["reaching"]["leaves"]) == (FOUR, "tagged")
    assert between(result, "green", "blue")["reached"] == 0
    tagged = probe(network.machine, {"groups": {"blue": BLUE, "green": GREEN}, "vlan": 100})
    assert between(tagged, "green", "blue")["reached"] == 2


@pytest.mark.parametrize("change", [{"online": False}, {"allowed": frozenset({7})}])
def test_groups_see_that_the_network_is_in_two(network: Network, change: dict[str, Any]) -> None:
    """Equal ports on switches that have no path between them."""
    network.fabric.configure(UPLINK, "test", **change)
    result = probe(network.machine, {"groups": {"one": BLUE, "other": GREEN}})
    across = between(result, "one", "other")
    assert (across["pairs"], across["reached"]) == (4, 2)
    assert across["stopped"]["why"].startswith((LEFT, RIGHT))
    assert between(result, "one", "one")["reached"] == 0


def test_ten_thousand_nodes_are_asked_in_a_moment(open_network: Open) -> None:
    network = open_network("alps")
    nodes = [part.xname for part in network.machine.parts("Node")]
    assert len(nodes) > 10_000
    tenants: dict[str, list[str]] = {f"t{number}": nodes[number::20] for number in range(20)}
    for number, members in enumerate(tenants.values()):
        for node in members:
            for nic in network.machine.nics(node):
                if nic.network == "HSN":
                    network.put_in(nic.xname, 100 + number)
    began = time.process_time()
    result = probe(network.machine, {"groups": tenants})
    assert time.process_time() - began < 10
    nics = len(network.nics)
    assert sum(pair["pairs"] for pair in result["between"]) == nics * (nics - 1)
    for pair in result["between"]:
        assert pair["reached"] == (pair["pairs"] if pair["from"] == pair["to"] else 0)
    spy = network.machine.nics(tenants["t3"][7])[-1].xname
    network.configure(spy, allowed=None)
    second_result = probe(network.machine, {"groups": {"t3": tenants["t3"], "t5": tenants["t5"]}, "vlan": 105})
    leak = between(second_result, "t3", "t5")
    assert leak["reached"] == second_result["groups"]["t5"]["nics"]
    assert leak["reaching"]["from"] == spy


@pytest.mark.parametrize(
    "probe_request",
    [
        {},
        {"from": ONE},
        {"from": ONE, "to": []},
        {"from": ONE, "to": [5]},
        {"from": ONE, "to": {"a": TWO}},
        {"from": ONE, "to": "x["},
        {"from": ONE, "to": "x9999c0s0b0n0"},
        {"from": ONE, "to": LEFT},
        {"from": ONE, "to": ""},
        {"from": ONE, "to": TWO, "kind": "smoke"},
        {"from": ONE, "to": TWO, "kind": ["ip"]},
        {"from": ONE, "to": TWO, "vlan": 4096},
        {"from": ONE, "to": TWO, "vlan": "5"},
        {"from": ONE, "to": TWO, "vlan": True},
        {"from": ONE, "to": TWO, "vlan": -1},
        {"from": ONE, "to": TWO, "kind": "vni"},
        {"from": ONE, "to": TWO, "kind": "vni", "vni": 0},
        {"from": ONE, "to": TWO, "kind": "vni", "vni": 65536},
        {"from": ONE, "to": TWO, "colour": "red"},
        {"from": ONE, "to": TWO, "groups": {"a": ONE}},
        {"groups": {}},
        {"groups": [ONE]},
        {"groups": {"a": None}},
        {"groups": {str(number): ONE for number in range(257)}},
    ],
)
def test_nonsense_is_refused(network: Network, probe_request: dict[str, Any]) -> None:
    with pytest.raises(EmulatorError) as refused:
        probe(network.machine, probe_request)
    assert refused.value.status in (400, 404)


def test_too_many_pairs_are_not_listed(open_network: Open) -> None:
    network = open_network("psi")
    with pytest.raises(EmulatorError, match="groups"):
        probe(network.machine, {"from": network.nics, "to": network.nics})


def test_known_ports_are_described_and_unknown_ones_are_not(network: Network) -> None:
    (description,) = describe_ports(network.machine, [network.port(ONE)], differs=False)
    assert (description["planned"], description["cable"], description["power"]) == (ONE, ONE, "on")
    assert description["effective"]["native"] == 1
    assert network.machine.describe(network.port(ONE)) == description
    assert len(describe_ports(network.machine, [], differs=False)) == 10
    spare = f"{LEFT}j20p1"
    (free,) = describe_ports(network.machine, [spare], differs=False)
    assert (free["planned"], free["cable"], free["effective"]["online"]) == (None, None, False)
    with pytest.raises(EmulatorError):
        describe_ports(network.machine, ["x1000c0r3j99p0"], differs=False)
