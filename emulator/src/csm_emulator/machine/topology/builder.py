"""Builds a machine from a data file."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.parts import Owner, Part, Topology
from csm_emulator.machine.topology.addresses import AddressAllocator, add_addresses
from csm_emulator.machine.topology.air_cooled import RackNumbers, add_rack
from csm_emulator.machine.topology.blades import load_catalogue
from csm_emulator.machine.topology.draft import Draft, EdgeGroup
from csm_emulator.machine.topology.fabric import add_fabric, number_switches
from csm_emulator.machine.topology.liquid_cooled import add_cabinets
from csm_emulator.machine.topology.networks import plan_networks
from csm_emulator.machine.topology.owners import assign_owners
from csm_emulator.machine.topology.sls import LazyDump, dump
from csm_emulator.records import Record

GLOBAL_LINKS = 2


def build(name: str, data: Record) -> Topology:
    draft = Draft(load_catalogue())
    add_cdus(draft, data["cdus"])
    racks = EdgeGroup(0, [])
    numbers = RackNumbers()
    # Group 0 is the racks'.
    group = 1
    for plan in sorted([*data["liquid"], *data["racks"]], key=_first_cabinet):
        if "cabinets" in plan:
            group = add_cabinets(draft, plan, group)
        else:
            add_rack(draft, plan, racks, numbers)
    draft.edges.append(racks)
    return finish(draft, name, data["about"], assign_owners(draft, data["owners"]))


def _first_cabinet(plan: Record) -> int:
    return int(plan["cabinets"][0] if "cabinets" in plan else plan["cabinet"])


def add_cdus(draft: Draft, count: int) -> None:
    for number in range(count):
        draft.add(Part(f"d{number}", "CDU", "s0", "Mountain"))
        draft.add(Part(f"d{number}w1", "CDUMgmtSwitch", f"d{number}", "Mountain"))


def finish(
    draft: Draft, name: str, about: str, owners: Sequence[Owner] = (), allotment: AddressAllocator | None = None
) -> Topology:
    """Completes a draft: adds cables, addresses, networks and the SLS dump."""
    cables = tuple(add_fabric(draft, GLOBAL_LINKS))
    allotment = allotment or AddressAllocator()
    add_addresses(draft, allotment)
    networks = plan_networks(draft.parts, draft.places, draft.nics, allotment)
    parts, places = draft.parts, draft.places
    sls = LazyDump(lambda: dump(parts, places, networks, allotment))
    nics, running = tuple(draft.nics), frozenset(draft.running)
    switches = number_switches(draft)
    return Topology(name, about, parts, nics, places, cables, networks, tuple(owners), running, sls, switches)
