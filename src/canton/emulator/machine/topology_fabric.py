"""The high-speed network: which NIC is at which port of which switch, and how the switches are cabled.

A dragonfly: within a group every switch has a cable to every other; between any two groups there are some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from canton.emulator.machine.parts import Cable, Nic
from canton.emulator.machine.topology_draft import EDGE_PORTS, Draft, Edge

GROUP_SWITCHES = 32
FIRST_GLOBAL = EDGE_PORTS + GROUP_SWITCHES - 1
PORTS = 64


def port_name(switch: str, number: int) -> str:
    """Two ports to a jack: port 5 of x1000c0r3 is x1000c0r3j3p1."""
    return f"{switch}j{number // 2 + 1}p{number % 2}"


def add_fabric(draft: Draft, links: int) -> list[Cable]:
    """HSN NICs go into the draft; the answer is all cables. ``links`` is how many there are between two groups."""
    edges = [edge for edge in draft.edges if edge.switches]
    cables = [cable for edge in edges for cable in _edge_cables(draft, edge)]
    groups: dict[int, list[str]] = {}
    for edge in edges:
        groups.setdefault(edge.group, []).extend(switch for _, switch in edge.switches)
    for switches in groups.values():
        cables += _local_cables(switches)
    cables += _global_cables(list(groups.values()), links)
    return cables


def _edge_cables(draft: Draft, edge: Edge) -> Iterator[Cable]:
    """The NICs of one node go to different switches, as far as there are some."""
    nics = ((node, number) for node, count in edge.nodes for number in range(count))
    for place, (node, number) in enumerate(nics):
        port, which = divmod(place, len(edge.switches))
        if port >= EDGE_PORTS:
            raise ValueError(f"the switches at {edge.switches[0][1]} have no port left for {node}")
        switch_number, switch = edge.switches[which]
        nic = f"{node}h{number}"
        draft.nics.append(Nic(nic, node, hsn_mac(edge.group, switch_number, port), "HSN", ""))
        yield Cable(port_name(switch, port), nic)


def hsn_mac(group: int, switch: int, port: int) -> str:
    """Slingshot's algorithmic MAC: the address of the switch port it is cabled to."""
    place = group << 11 | switch << 6 | port
    return f"02:00:00:{place >> 16:02x}:{place >> 8 & 255:02x}:{place & 255:02x}"


def _local_cables(switches: list[str]) -> Iterator[Cable]:
    if len(switches) > GROUP_SWITCHES:
        raise ValueError(f"a group has at most {GROUP_SWITCHES} switches, that of {switches[0]} {len(switches)}")
    for (left, one), (right, other) in combinations(enumerate(switches), 2):
        yield Cable(port_name(one, EDGE_PORTS + right - 1), port_name(other, EDGE_PORTS + left))


def _global_cables(groups: list[list[str]], links: int) -> Iterable[Cable]:
    used: Counter[int] = Counter()

    def take(group: int) -> str:
        row, which = divmod(used[group], len(groups[group]))
        used[group] += 1
        if FIRST_GLOBAL + row >= PORTS:
            raise ValueError(f"the group of {groups[group][0]} has too few switches for {links} links to each other group")
        return port_name(groups[group][which], FIRST_GLOBAL + row)

    for one, other in combinations(range(len(groups)), 2):
        for _ in range(links):
            yield Cable(take(one), take(other))
