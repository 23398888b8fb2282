"""Every shipped machine could exist: names, parents, addresses and cables are consistent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from ipaddress import ip_address, ip_network
from itertools import pairwise
from typing import Any

import pytest

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.parts import Topology
from csm_emulator.machine.power import RESETS
from csm_emulator.machine.sls_import.dump import load_sls
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.machine.topology.fabric import EDGE_PORTS, PORTS, port_name
from csm_emulator.xnames import XnameType, parse

COMPUTE_NODES = {"tiny": 8, "psi": 288, "alps-mini": 1015, "alps": 10_000}
# HSM has no component for the c0 of a rack, for a rack's slot, or for the enclosure of a high-level switch.
NOT_IN_RACKS = {"Chassis", "ComputeModule", "MgmtHLSwitchEnclosure"}

load = cache(topologies.load)
every = pytest.mark.parametrize("name", COMPUTE_NODES)


def computes(topology: Topology) -> list[str]:
    return [place.xname for place in topology.places.values() if place.role == "Compute"]


def test_these_machines_and_no_others_are_shipped() -> None:
    assert set(topologies.names()) == {"empty", *COMPUTE_NODES}


@pytest.mark.parametrize("name", ["", "blades", "../topologies/tiny", "Tiny", "tiny.yaml", "no such\x00machine"])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(InvalidMachine, match="alps-mini"):
        topologies.load(name)


def test_the_empty_machine_has_nothing() -> None:
    empty = topologies.load("empty")
    assert not empty.parts
    assert empty.sls == {"Hardware": {}, "Networks": {}}


@every
def test_it_has_as_many_compute_nodes_as_promised(name: str) -> None:
    assert len(computes(load(name))) == COMPUTE_NODES[name]


@every
def test_xnames_are_valid_and_say_type_and_parent(name: str) -> None:
    for xname, part in load(name).parts.items():
        parsed = parse(xname)
        assert (xname, part.xname) == (str(parsed), str(parsed))
        assert part.type == parsed.type.value
        assert part.parent == str(parsed.parent)


@every
def test_parts_are_in_the_order_of_xnames_below_parents_that_exist(name: str) -> None:
    parts = load(name).parts
    xnames = [parse(xname) for xname in parts]
    assert all(one < following for one, following in pairwise(xnames))
    for xname in xnames:
        parent = xname.parent
        assert parent is not None
        rack = parts[str(xname)].hardware_class == "River" and parent.type.value in NOT_IN_RACKS
        assert str(parent) in parts or str(parent) == "s0" or rack


@every
def test_classes_are_those_of_the_cabinet(name: str) -> None:
    parts = load(name).parts
    for xname, part in parts.items():
        cabinet = parse(xname).cabinet
        assert part.hardware_class in ("Mountain", "Hill", "River")
        assert cabinet is None or parts[str(cabinet)].hardware_class == part.hardware_class


@every
def test_nids_aliases_macs_and_addresses_are_given_once(name: str) -> None:
    topology = load(name)
    places = topology.places.values()
    aliases = [alias for place in places for alias in place.aliases]
    for values in (
        [place.nid for place in places],
        aliases,
        [nic.mac for nic in topology.nics],
        [nic.address for nic in topology.nics],
        [nic.xname for nic in topology.nics],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []
    assert len(aliases) == len(topology.places)


@every
def test_nids_are_counted_as_hpe_does(name: str) -> None:
    topology = load(name)
    for place in topology.places.values():
        river = topology.parts[place.xname].hardware_class == "River"
        if place.role == "Compute":
            assert (place.nid < 1000) if river else (1000 <= place.nid < 100_000)
            assert place.aliases == (f"nid{place.nid:06}",)
        else:
            assert place.nid > 100_000


def test_controllers_have_the_macs_of_crays_algorithm() -> None:
    macs = {nic.xname: nic.mac for nic in load("psi").nics}
    assert macs["x1000c0b0"] == "02:03:e8:00:00:00"
    assert macs["x1000c1r3b0"] == "02:03:e8:01:63:00"
    assert macs["x1000c7s2b1"] == "02:03:e8:07:32:10"


@every
def test_every_address_lies_in_a_subnet_of_its_network(name: str) -> None:
    topology = load(name)
    subnets: dict[str, list[Any]] = {"NMN": [], "HMN": [], "HSN": []}
    for network in topology.networks:
        kind = network.name.partition("_")[0]
        for subnet in network.extra["Subnets"] if kind in subnets else ():  # type: ignore[attr-defined]
            subnets[kind].append(ip_network(subnet["CIDR"], strict=False))
    for nic in topology.nics:
        assert any(ip_address(nic.address) in subnet for subnet in subnets[nic.network]), nic


@every
def test_every_node_has_a_controller_a_model_a_place_and_a_management_nic(name: str) -> None:
    topology = load(name)
    managed = {nic.owner for nic in topology.nics if nic.network == "NMN"}
    nodes = [part for part in topology.parts.values() if part.type == "Node"]
    assert {part.xname for part in nodes} == set(topology.places) == managed
    for node in nodes:
        assert node.controller == node.parent
        assert topology.parts[node.controller].type == "NodeBMC"
        assert node.model is not None


@every
def test_whatever_can_be_reset_has_a_controller_that_can_be_reached_over_the_network(name: str) -> None:
    topology = load(name)
    on_hmn = {nic.owner for nic in topology.nics if nic.network == "HMN"}
    for part in topology.parts.values():
        if part.type in RESETS:
            assert topology.parts[part.controller].type in CONTROLLERS
            assert part.controller in on_hmn
        if part.type in CONTROLLERS:
            assert part.controller == part.xname


@every
def test_power_reaches_every_node_through_its_slot_or_two_outlets(name: str) -> None:
    parts = load(name).parts
    feeders: dict[str, list[str]] = {}
    for part in parts.values():
        for fed in part.feeds:
            feeders.setdefault(fed, []).append(part.xname)
    assert set(feeders) <= set(parts)
    for node in (part for part in parts.values() if part.type in ("Node", "NodeBMC")):
        by = feeders[node.xname]
        if node.hardware_class == "River":
            assert [parts[feeder].type for feeder in by] == ["CabinetPDUPowerConnector"] * 2
        else:
            (slot,) = by
            assert parse(slot) in (parse(node.xname), *parse(node.xname).ancestry)
            assert feeders[slot] == [parts[slot].parent]


@every
def test_every_cable_has_two_ends_that_exist_and_hold_no_other(name: str) -> None:
    topology = load(name)
    nics = {nic.xname for nic in topology.nics if nic.network == "HSN"}
    switches = [part.xname for part in topology.parts.values() if part.type == "RouterModule"]
    ports = {port_name(switch, number) for switch in switches for number in range(PORTS)}
    ends = [end for cable in topology.cables for end in (cable.port, cable.end)]
    assert max(Counter(ends).values()) == 1
    plugs = ports | nics
    assert all(cable.port in ports for cable in topology.cables)
    assert all(cable.end in plugs for cable in topology.cables)


@every
def test_the_nics_of_liquid_cooled_nodes_are_cabled_and_named_after_their_port(name: str) -> None:
    topology = load(name)
    port_at = {cable.end: cable.port for cable in topology.cables}
    for nic in topology.nics:
        if nic.network == "HSN" and topology.parts[nic.owner].hardware_class != "River":
            port = parse(port_at[nic.xname])
            number = (port.ordinals[-2] - 1) * 2 + port.ordinals[-1]
            assert number < EDGE_PORTS
            assert int(nic.mac.replace(":", ""), 16) & 0x3F == number
            assert str(port.chassis) == str(parse(nic.xname).chassis)


@every
def test_the_nics_of_one_node_lead_to_different_switches(name: str) -> None:
    topology = load(name)
    switches: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for cable in topology.cables:
        node = parse(cable.end).enclosing(XnameType.NODE)
        if node is not None and topology.parts[str(node)].hardware_class != "River":
            counts[str(node)] += 1
            switches.setdefault(str(node), set()).add(cable.port.partition("j")[0])
    assert all(len(switches[node]) == count for node, count in counts.items())


@every
def test_switches_of_a_group_are_all_joined_and_groups_to_one_another(name: str) -> None:
    topology = load(name)
    joined = {
        frozenset((cable.port.partition("j")[0], cable.end.partition("j")[0]))
        for cable in topology.cables
        if parse(cable.end).enclosing(XnameType.NODE) is None
    }
    groups: dict[str, list[str]] = {}
    for part in topology.parts.values():
        if part.type == "RouterModule":
            river = part.hardware_class == "River"
            groups.setdefault("River" if river else str(parse(part.xname).cabinet), []).append(part.xname)
    for switches in groups.values():
        assert all(
            frozenset((one, other_switch)) in joined
            for one in switches
            for other_switch in switches
            if one < other_switch
        )
    group_of = {switch: group for group, switches in groups.items() for switch in switches}
    pairs = {frozenset(group_of[switch] for switch in pair) for pair in joined}
    assert all(
        frozenset((one, other_switch)) in pairs for one in groups for other_switch in groups if one < other_switch
    )


@every
def test_no_compute_node_has_two_owners(name: str) -> None:
    topology = load(name)
    owned = [node for owner in topology.owners for node in owner.nodes]
    assert len(owned) == len(set(owned)) < len(computes(topology))
    assert set(owned) <= set(computes(topology))
    assert topology.running <= set(topology.places)


def test_psi_has_the_sizes_of_the_paper() -> None:
    topology = load("psi")
    psi = next(owner for owner in topology.owners if owner.label == "psi")
    parts = [topology.parts[node] for node in psi.nodes]
    models = Counter(part.model.name for part in parts if part.model)
    assert models == {"EX425": 100, "EX254n": 10}
    hopper = next(part.model for part in parts if part.model and part.model.name == "EX254n")
    assert hopper.hsn_nics == 4
    fitted = {fitting.fru.model: fitting.count for fitting in hopper.fittings}
    assert fitted["NVIDIA GH200 120GB"] == 4
    hsn = Counter(nic.owner for nic in topology.nics if nic.network == "HSN")
    assert {hsn[part.xname] for part in parts} == {1, 4}
    up = set(psi.nodes) & topology.running
    assert 0 < len(up) < len(psi.nodes)
    assert len(topology.owners) > 1
    assert psi.users


@every
def test_sls_has_every_node_with_its_place(name: str) -> None:
    topology = load(name)
    hardware: Any = topology.sls["Hardware"]
    nodes = {xname: entry["ExtraProperties"] for xname, entry in hardware.items() if entry["TypeString"] == "Node"}
    assert {xname: (extra["NID"], extra["Role"], *extra["Aliases"]) for xname, extra in nodes.items()} == {
        place.xname: (place.nid, place.role, *place.aliases) for place in topology.places.values()
    }
    for xname, entry in hardware.items():
        parsed = parse(xname)
        assert (entry["Xname"], entry["Parent"]) == (str(parsed), str(parsed.parent))
        assert entry["TypeString"] == parsed.type.value
    assert {"NMN", "HMN", "HSN", "NMN_MTN", "HMN_MTN"} <= set(topology.sls["Networks"])
    json.dumps(dict(topology.sls))


@every
def test_the_machine_that_its_own_sls_describes_is_the_same(name: str) -> None:
    """The comparison covers the data that SLS has: no switch blades, no outlets, and no power state."""
    topology = load(name)
    second_topology = load_sls(json.loads(json.dumps(dict(topology.sls))))
    assert second_topology.places == topology.places
    assert _told_by_sls(second_topology) == _told_by_sls(topology)
    assert [nic for nic in second_topology.nics if nic.network == "NMN"] == [
        nic for nic in topology.nics if nic.network == "NMN"
    ]
    assert second_topology.sls == dict(topology.sls)


def _told_by_sls(topology: Topology) -> list[tuple[str, str, str, str]]:
    not_there = {"RouterModule", "RouterBMC", "HSNBoard", "CabinetPDUPowerConnector"}
    return [
        (part.xname, part.type, part.hardware_class, part.controller)
        for part in topology.parts.values()
        if part.type not in not_there or (part.hardware_class == "River" and part.type != "CabinetPDUPowerConnector")
    ]


@pytest.mark.parametrize("name", ["tiny", "psi", "alps-mini"])
def test_it_is_the_same_each_time(name: str) -> None:
    one, second = topologies.load(name), topologies.load(name)
    assert dict(one.sls) == dict(second.sls)
    for field in ("parts", "nics", "places", "cables", "networks", "owners", "running"):
        assert getattr(one, field) == getattr(second, field)
    assert list(one.parts) == list(second.parts)


_MEASURE = """
import resource, time
from csm_emulator.machine.topology import catalog as topologies
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
topologies.load("alps")
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_ten_thousand_nodes_are_there_at_once_and_are_small() -> None:
    completed = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, completed.stdout.split())
    assert seconds < 1.5
    assert megabytes < 150
