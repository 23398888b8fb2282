"""A data file becomes a machine."""

from __future__ import annotations

from typing import Any

from canton.emulator.machine.parts import Part, Topology
from canton.emulator.machine.topology_addresses import add_addresses
from canton.emulator.machine.topology_blades import load_catalogue
from canton.emulator.machine.topology_draft import Draft, Edge
from canton.emulator.machine.topology_fabric import add_fabric
from canton.emulator.machine.topology_liquid import add_cabinets
from canton.emulator.machine.topology_owners import deal_out
from canton.emulator.machine.topology_racks import RackNumbers, add_rack

GLOBAL_LINKS = 2


def build(name: str, data: dict[str, Any]) -> Topology:
    draft = Draft(load_catalogue())
    for number in range(data.get("cdus", 0)):
        draft.add(Part(f"d{number}", "CDU", "s0", "Mountain"))
        draft.add(Part(f"d{number}w1", "CDUMgmtSwitch", f"d{number}", "Mountain"))
    group = 0
    for plan in data.get("liquid", ()):
        group = add_cabinets(draft, plan, group)
    edge = Edge(group, [])
    numbers = RackNumbers()
    for plan in data.get("racks", ()):
        add_rack(draft, plan, edge, numbers)
    draft.edges.append(edge)
    cables = add_fabric(draft, data.get("global_links", GLOBAL_LINKS))
    add_addresses(draft)
    owners = deal_out(draft, data.get("owners", []))
    return Topology(
        name,
        data["about"],
        draft.parts,
        tuple(draft.nics),
        draft.places,
        tuple(cables),
        (),
        tuple(owners),
        frozenset(draft.running),
        {"Hardware": {}, "Networks": {}},
    )
