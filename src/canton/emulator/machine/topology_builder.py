"""A data file becomes a machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from canton.emulator.machine.parts import Owner, Part, Topology
from canton.emulator.machine.topology_addresses import Allotment, add_addresses
from canton.emulator.machine.topology_blades import load_catalogue
from canton.emulator.machine.topology_draft import Draft, Edge
from canton.emulator.machine.topology_fabric import add_fabric, number_switches
from canton.emulator.machine.topology_liquid import add_cabinets
from canton.emulator.machine.topology_networks import plan_networks
from canton.emulator.machine.topology_owners import deal_out
from canton.emulator.machine.topology_racks import RackNumbers, add_rack
from canton.emulator.machine.topology_sls import Dump, dump

GLOBAL_LINKS = 2


def build(name: str, data: dict[str, Any]) -> Topology:
    draft = Draft(load_catalogue())
    add_cdus(draft, data["cdus"])
    racks = Edge(0, [])
    numbers = RackNumbers()
    # Group 0 is that of the racks.
    group = 1
    for plan in sorted([*data["liquid"], *data["racks"]], key=_first_cabinet):
        if "cabinets" in plan:
            group = add_cabinets(draft, plan, group)
        else:
            add_rack(draft, plan, racks, numbers)
    draft.edges.append(racks)
    return finish(draft, name, data["about"], deal_out(draft, data["owners"]))


def _first_cabinet(plan: dict[str, Any]) -> int:
    return int(plan["cabinets"][0] if "cabinets" in plan else plan["cabinet"])


def add_cdus(draft: Draft, count: int) -> None:
    for number in range(count):
        draft.add(Part(f"d{number}", "CDU", "s0", "Mountain"))
        draft.add(Part(f"d{number}w1", "CDUMgmtSwitch", f"d{number}", "Mountain"))


def finish(
    draft: Draft, name: str, about: str, owners: Sequence[Owner] = (), allotment: Allotment | None = None
) -> Topology:
    """Cables, addresses and networks for the parts that are there."""
    cables = tuple(add_fabric(draft, GLOBAL_LINKS))
    allotment = allotment or Allotment()
    add_addresses(draft, allotment)
    networks = plan_networks(draft.parts, draft.places, draft.nics, allotment)
    parts, places = draft.parts, draft.places
    sls = Dump(lambda: dump(parts, places, networks, allotment))
    nics, running = tuple(draft.nics), frozenset(draft.running)
    switches = number_switches(draft)
    return Topology(name, about, parts, nics, places, cables, networks, tuple(owners), running, sls, switches)
