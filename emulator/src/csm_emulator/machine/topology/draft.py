"""A topology under construction."""

from __future__ import annotations

from dataclasses import dataclass, field

from csm_emulator.machine.parts import Nic, NodePlace, Part
from csm_emulator.machine.topology.blades import Blade, Catalogue


@dataclass(slots=True)
class EdgeGroup:
    """Switches and the nodes that are cabled to them: of one chassis, or of all racks."""

    group: int
    """The dragonfly group that the switches belong to."""
    switches: list[tuple[int, str]]
    """Number in the group, and RouterModule."""
    nodes: list[tuple[str, int]] = field(default_factory=list)
    """Nodes with their number of NICs."""


@dataclass(slots=True)
class Draft:
    catalogue: Catalogue
    parts: dict[str, Part] = field(default_factory=dict)
    places: dict[str, NodePlace] = field(default_factory=dict)
    nics: list[Nic] = field(default_factory=list)
    edges: list[EdgeGroup] = field(default_factory=list)
    running: set[str] = field(default_factory=set)

    def add(self, part: Part) -> None:
        if part.xname in self.parts:
            raise ValueError(f"{part.xname} is there twice")
        self.parts[part.xname] = part


@dataclass(frozen=True, slots=True)
class Cards:
    """The parts on a blade or in a server."""

    bmcs: tuple[str, ...]
    nodes: tuple[str, ...]
    enclosures: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return self.bmcs + self.nodes + self.enclosures


def name_cards(slot: str, blade: Blade) -> Cards:
    return Cards(
        tuple(f"{slot}b{bmc}" for bmc in blade.controllers),
        tuple(f"{slot}b{bmc}n{node}" for bmc, node in blade.nodes),
        tuple(f"{slot}e{bmc}" for bmc in blade.controllers),
    )


def add_cards(draft: Draft, slot: str, hardware_class: str, blade: Blade) -> Cards:
    """The BMCs with their nodes, then the enclosures: one for each BMC."""
    cards = name_cards(slot, blade)
    for bmc in cards.bmcs:
        draft.add(Part(bmc, "NodeBMC", slot, hardware_class, bmc, fru=blade.bmc))
        for node in cards.nodes:
            if node.startswith(f"{bmc}n"):
                draft.add(Part(node, "Node", bmc, hardware_class, bmc, model=blade.model))
    for bmc, enclosure in zip(cards.bmcs, cards.enclosures, strict=True):
        draft.add(Part(enclosure, "NodeEnclosure", slot, hardware_class, bmc, fru=blade.enclosure))
    return cards


def nid_alias(nid: int) -> str:
    return f"nid{nid:06}"
