"""A topology while it is being put together."""

from __future__ import annotations

from dataclasses import dataclass, field

from canton.emulator.machine.parts import Nic, NodePlace, Part
from canton.emulator.machine.topology_blades import Catalogue

EDGE_PORTS = 16
"""A Slingshot switch has 64 ports; in a liquid-cooled chassis 16 of them face nodes, two for each of the eight slots."""


@dataclass(slots=True)
class Edge:
    """Switches and the nodes that are cabled to them: a chassis, or the racks together."""

    group: int
    """The dragonfly group that the switches belong to."""
    switches: list[tuple[int, str]]
    """Number in the group, and RouterModule."""
    nodes: list[tuple[str, int]] = field(default_factory=list)
    """Node, and how many NICs it has."""


@dataclass(slots=True)
class Draft:
    catalogue: Catalogue
    parts: dict[str, Part] = field(default_factory=dict)
    places: dict[str, NodePlace] = field(default_factory=dict)
    nics: list[Nic] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    running: set[str] = field(default_factory=set)

    def add(self, part: Part) -> None:
        if part.xname in self.parts:
            raise ValueError(f"{part.xname} is there twice")
        self.parts[part.xname] = part


def nid_alias(nid: int) -> str:
    return f"nid{nid:06}"
