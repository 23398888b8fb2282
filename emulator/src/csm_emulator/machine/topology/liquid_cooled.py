"""Liquid-cooled cabinets: chassis, slots, blades and switch blades.

The chassis feeds slots and switch blades; a slot feeds the BMCs and nodes on its blade. The chassis' own controller
runs on standby power, which cannot be switched off.
"""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.parts import NodePlace, Part
from csm_emulator.machine.topology.blades import Blade
from csm_emulator.machine.topology.draft import Cards, Draft, EdgeGroup, add_cards, name_cards, nid_alias
from csm_emulator.records import Record

NIDS_PER_CABINET = 256


def add_cabinets(draft: Draft, plan: Record, group: int) -> int:
    """Adds the cabinets of one entry of a data file; returns the number of the next dragonfly group."""
    first, last = plan["cabinets"]
    for index, number in enumerate(range(first, last + 1)):
        _add_cabinet(draft, plan, number, plan["nid"] + index * NIDS_PER_CABINET, group)
        group += 1
    return group


def _add_cabinet(draft: Draft, plan: Record, number: int, nid: int, group: int) -> None:
    cabinet = f"x{number}"
    add_cabinet(draft, cabinet, plan["class"], plan["model"])
    switches = 0
    by_chassis = {chassis: entry for entry in plan["chassis"] for chassis in entry["numbers"]}
    for chassis, entry in sorted(by_chassis.items()):
        xname = f"{cabinet}c{chassis}"
        edge = EdgeGroup(
            group, [(switches + place, f"{xname}r{router}") for place, router in enumerate(entry["switches"])]
        )
        switches += len(edge.switches)
        draft.edges.append(edge)
        slots = {slot: draft.catalogue.blades[blade] for blade, places in entry["slots"].items() for slot in places}
        add_chassis(draft, xname, plan["class"], [name for _, name in edge.switches], sorted(slots))
        for slot, blade in sorted(slots.items()):
            nid = _add_nodes(draft, f"{xname}s{slot}", blade, edge, nid)


def add_cabinet(draft: Draft, xname: str, hardware_class: str, model: str) -> None:
    draft.add(Part(xname, "Cabinet", "s0", hardware_class, fru=draft.catalogue.frus[f"cabinet-{model}"]))


def add_chassis(draft: Draft, xname: str, hardware_class: str, switches: Sequence[str], slots: Sequence[int]) -> None:
    """Adds the chassis with its controller and switch blades, without the blades in its slots."""
    frus = draft.catalogue.frus
    controller = f"{xname}b0"
    fed = (*switches, *(f"{xname}s{slot}" for slot in slots))
    cabinet = xname[: xname.rindex("c")]
    draft.add(Part(xname, "Chassis", cabinet, hardware_class, controller, fed, fru=frus["chassis"]))
    draft.add(Part(controller, "ChassisBMC", xname, hardware_class, controller, fru=frus["cmm"]))
    for switch in switches:
        add_switch(draft, switch, hardware_class, controller)


def add_switch(draft: Draft, xname: str, hardware_class: str, controller: str) -> None:
    """``controller`` switches its power: the chassis' controller, or in a rack the switch's own."""
    frus = draft.catalogue.frus
    bmc, board = f"{xname}b0", f"{xname}e0"
    fru = frus["switch-tor" if hardware_class == "River" else "switch-blade"]
    chassis = xname[: xname.rindex("r")]
    draft.add(Part(xname, "RouterModule", chassis, hardware_class, controller, (bmc, board), fru=fru))
    draft.add(Part(bmc, "RouterBMC", xname, hardware_class, bmc, fru=frus["switch-bmc"]))
    draft.add(Part(board, "HSNBoard", xname, hardware_class, bmc, fru=frus["switch-board"]))


def add_blade(draft: Draft, slot: str, hardware_class: str, blade: Blade) -> Cards:
    """Adds the slot and the parts on its blade."""
    chassis = slot[: slot.rindex("s")]
    fed = name_cards(slot, blade).all
    fru = draft.catalogue.frus["blade-slot"]
    draft.add(Part(slot, "ComputeModule", chassis, hardware_class, f"{chassis}b0", fed, fru=fru))
    return add_cards(draft, slot, hardware_class, blade)


def _add_nodes(draft: Draft, slot: str, blade: Blade, edge: EdgeGroup, nid: int) -> int:
    hardware_class = draft.parts[slot[: slot.rindex("s")]].hardware_class
    for node in add_blade(draft, slot, hardware_class, blade).nodes:
        draft.places[node] = NodePlace(node, nid, "Compute", "", (nid_alias(nid),))
        edge.nodes.append((node, blade.model.hsn_nics))
        nid += 1
    return nid
