"""The nodes of the management cluster, where its pods run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from csm_emulator.machine.parts import NodePlace, Topology
from csm_emulator.state.random import SeededRandom

_OUTSIDE = "Storage"


def places(topology: Topology) -> Iterator[NodePlace]:
    """The management nodes in the cluster; storage nodes are not."""
    for place in topology.places.values():
        if place.role == "Management" and place.sub_role != _OUTSIDE:
            yield place


def name_of(place: NodePlace) -> str:
    return place.aliases[0] if place.aliases else place.xname


def workers(topology: Topology) -> list[str]:
    """Names of the nodes on which pods run: the workers, or all nodes if there are none."""
    nodes = list(places(topology))
    own = [name_of(place) for place in nodes if place.sub_role == "Worker"]
    return own or [name_of(place) for place in nodes]


def one_of(nodes: Sequence[str], random: SeededRandom, *about: object) -> str:
    """A node for a pod, always the same one; empty if there are no nodes."""
    return nodes[int(random.roll("node of pod", *about) * len(nodes))] if nodes else ""
