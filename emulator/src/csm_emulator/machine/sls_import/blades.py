"""The blade or server type of each slot in an SLS dump: named by HPE's simulator, or guessed from the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from csm_emulator.machine.sls_import.entries import Entry
from csm_emulator.machine.topology.blades import Blade, Catalogue

MOCKUP = "@rie.mockup"
"""HPE's simulator names its mockup of the BMC under this key; a real SLS has no such key."""
_LIQUID_BY_NODES = {
    ((0, 0), (0, 1), (1, 0), (1, 1)): "EX425",
    ((0, 0), (0, 1), (0, 2), (0, 3)): "EX4252",
    ((0, 0), (1, 0)): "EX235a",
    ((0, 0), (0, 1)): "EX235n",
}
_RIVER_BY_ROLE = {"Management": "DL325", "Application": "DL385"}


@dataclass(slots=True)
class BladeFinder:
    catalogue: Catalogue
    mistakes: list[str] = field(default_factory=list)
    guessed: set[str] = field(default_factory=set)
    """Names of the types that were guessed."""

    def find(self, slot: str, nodes: Iterable[Entry], module: Entry | None) -> Blade:
        """The blade type of a slot, with the nodes that the dump has."""
        nodes = list(nodes)
        places = tuple(sorted((node.xname.ordinals[-2], node.xname.ordinals[-1]) for node in nodes))
        name = _named_blade(self.catalogue.blades, [*nodes, *([module] if module else [])])
        if name is None:
            return replace(self._guess(nodes, places), nodes=places)
        blade = self.catalogue.blades[name]
        if not set(places) <= set(blade.nodes):
            has, knows = _node_names(slot, places), _node_names(slot, blade.nodes)
            self.mistakes.append(f"{slot} is an {name} with the nodes {knows}, but the dump has {has}")
        return replace(blade, nodes=places)

    def _guess(self, nodes: list[Entry], places: tuple[tuple[int, int], ...]) -> Blade:
        if nodes[0].hardware_class == "River":
            role = str(nodes[0].extra.get("Role", "Compute"))
            name = "Gigabyte" if len(places) > 1 else _RIVER_BY_ROLE.get(role, "DL325")
        else:
            name = _LIQUID_BY_NODES.get(places, "EX425")
        self.guessed.add(name)
        return self.catalogue.blades[name]


def _named_blade(blades: Mapping[str, Blade], entries: Iterable[Entry]) -> str | None:
    for entry in entries:
        # XL675d_A40 is the mockup of an XL675d with that accelerator.
        name = str(entry.extra.get(MOCKUP, "")).partition("_")[0]
        if name in blades:
            return name
    return None


def _node_names(slot: str, places: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{slot}b{bmc}n{node}" for bmc, node in places)
