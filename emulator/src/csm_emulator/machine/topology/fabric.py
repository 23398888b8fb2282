"""The high-speed network: the switch port of each NIC, and the cables between switches.

It is a dragonfly: within a group each switch has a cable to every other; between two groups there are a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.parts import Cable, Nic
from csm_emulator.machine.topology.addresses import FIRST_HOST, HSN, dotted
from csm_emulator.machine.topology.draft import Draft, EdgeGroup

PORTS = 64
EDGE_PORTS = 16
"""Of a switch's 64 ports 16 face nodes, two for each of the eight slots of a chassis; 31 go to its group, 17 beyond."""
GROUP_SWITCHES = 32
FIRST_GLOBAL = EDGE_PORTS + GROUP_SWITCHES - 1


def port_name(switch: str, number: int) -> str:
    """Two ports to a jack: port 5 of x1000c0r3 is x1000c0r3j3p1."""
    return f"{switch}j{number // 2 + 1}p{number % 2}"


def hsn_mac(group: int, switch: int, port: int) -> str:
    """Slingshot's algorithmic MAC: the address of the switch port it is cabled to."""
    place = group << 11 | switch << 6 | port
    return f"02:00:00:{place >> 16:02x}:{place >> 8 & 255:02x}:{place & 255:02x}"


def add_fabric(draft: Draft, links: int) -> list[Cable]:
    """Adds HSN NICs to the draft; returns all cables. ``links`` is the number of cables between two groups."""
    cables: list[Cable] = []
    groups: dict[int, list[str]] = {}
    for edge in draft.edges:
        cables += _edge_cables(draft, edge)
        if edge.switches:
            groups.setdefault(edge.group, []).extend(switch for _, switch in edge.switches)
    for switches in groups.values():
        cables += _local_cables(switches)
    cables += _global_cables(list(groups.values()), links)
    return cables


def number_switches(draft: Draft) -> dict[str, tuple[int, int]]:
    """Group and number of each switch."""
    return {switch: (edge.group, number) for edge in draft.edges for number, switch in edge.switches}


def _edge_cables(draft: Draft, edge: EdgeGroup) -> Iterator[Cable]:
    """Cables from NICs to switches, those of one node to different switches; NICs beyond the ports have no cable."""
    free = len(edge.switches) * EDGE_PORTS
    nics = ((node, number) for node, count in edge.nodes for number in range(count))
    for place, (node, number) in enumerate(nics):
        count = len(draft.nics)
        # Without a port there is no algorithmic MAC; it keeps its own, of Cray's block.
        mac = f"00:40:a6:{count >> 16:02x}:{count >> 8 & 255:02x}:{count & 255:02x}"
        nic = f"{node}h{number}"
        if place < free:
            port, which = divmod(place, len(edge.switches))
            switch_number, switch = edge.switches[which]
            mac = hsn_mac(edge.group, switch_number, port)
            yield Cable(port_name(switch, port), nic)
        draft.nics.append(Nic(nic, node, mac, "HSN", dotted(HSN + FIRST_HOST + count)))


def _local_cables(switches: list[str]) -> Iterator[Cable]:
    if len(switches) > GROUP_SWITCHES:
        raise InvalidMachine(
            f"{switches[0]} is in a dragonfly group of {len(switches)} switches; the limit is {GROUP_SWITCHES}"
        )
    for (first_number, first), (second_number, second) in combinations(enumerate(switches), 2):
        yield Cable(port_name(first, EDGE_PORTS + second_number - 1), port_name(second, EDGE_PORTS + first_number))


def _global_cables(groups: list[list[str]], links: int) -> Iterator[Cable]:
    """``links`` cables between each two groups, or as many as the ports of the smaller group allow."""
    used: Counter[int] = Counter()
    room = [len(switches) * (PORTS - FIRST_GLOBAL) for switches in groups]

    def take(group: int) -> str:
        row, which = divmod(used[group], len(groups[group]))
        used[group] += 1
        return port_name(groups[group][which], FIRST_GLOBAL + row)

    # Every pair gets its first cable before any gets its second.
    for _ in range(links):
        for first, second in combinations(range(len(groups)), 2):
            if used[first] < room[first] and used[second] < room[second]:
                yield Cable(take(first), take(second))
