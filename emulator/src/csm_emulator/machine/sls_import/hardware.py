"""Adds the hardware of an SLS dump, with the parts that a dump omits: BMCs, slots, switch blades, outlets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from csm_emulator.machine.parts import NodePlace, Part
from csm_emulator.machine.sls_import.blades import BladeFinder
from csm_emulator.machine.sls_import.entries import Entry, SlsDump
from csm_emulator.machine.topology.air_cooled import RIVER, add_pdu
from csm_emulator.machine.topology.blades import Blade
from csm_emulator.machine.topology.draft import Draft, EdgeGroup, add_cards
from csm_emulator.machine.topology.fabric import EDGE_PORTS
from csm_emulator.machine.topology.liquid_cooled import add_blade, add_cabinet, add_chassis, add_switch
from csm_emulator.xnames import Xname, XnameType

_SWITCH_SLOTS = (3, 7, 1, 5, 0, 2, 4, 6)
"""Slots of switch blades, in the order in which they are filled."""
LIQUID_SLOTS = range(8)
_LIQUID_MODELS = {"Hill": "EX2000", "Mountain": "EX4000"}


@dataclass(slots=True)
class ChassisEntries:
    """The entries of the dump in one chassis."""

    slots: dict[int, list[Entry]] = field(default_factory=dict)
    """Nodes by slot."""
    modules: dict[int, Entry] = field(default_factory=dict)
    switches: set[int] = field(default_factory=set)
    management_switches: list[Entry] = field(default_factory=list)
    """Switches of the management networks."""
    stated: set[str] = field(default_factory=set)

    @property
    def classes(self) -> set[str]:
        """The classes of its nodes, or of its other entries if it has none: a leaf switch may be anywhere."""
        return {node.hardware_class for nodes in self.slots.values() for node in nodes} or self.stated


def add_hardware(draft: Draft, dump: SlsDump, finder: BladeFinder) -> None:
    """Adds parts, places and switch groups; inconsistencies are added to the finder's mistakes."""
    _add_cdus(draft, dump.hardware)
    racks = EdgeGroup(0, [])
    for group, (cabinet, entries) in enumerate(_by_cabinet(dump.hardware).items(), 1):
        _add_cabinet(draft, cabinet, entries, finder, group, racks)
    draft.edges.append(racks)


def _add_cdus(draft: Draft, entries: Iterable[Entry]) -> None:
    for entry in entries:
        if entry.type not in ("CDU", "CDUMgmtSwitch"):
            continue
        cdu = str(entry.xname.enclosing(XnameType.CDU))
        if cdu not in draft.parts:
            draft.add(Part(cdu, "CDU", "s0", entry.hardware_class))
        if entry.type == "CDUMgmtSwitch":
            draft.add(Part(str(entry.xname), entry.type, cdu, entry.hardware_class))


def _by_cabinet(entries: Iterable[Entry]) -> Mapping[Xname, list[Entry]]:
    entries_by_cabinet: dict[Xname, list[Entry]] = {}
    for entry in entries:
        cabinet = entry.xname.cabinet
        if cabinet is not None:
            entries_by_cabinet.setdefault(cabinet, []).append(entry)
    return dict(sorted(entries_by_cabinet.items()))


def _add_cabinet(
    draft: Draft, cabinet: Xname, entries: list[Entry], finder: BladeFinder, group: int, racks: EdgeGroup
) -> None:
    own = next((entry for entry in entries if entry.type == "Cabinet"), entries[0])
    model = str(own.extra.get("Model", ""))
    if f"cabinet-{model}" not in draft.catalogue.frus:
        model = _LIQUID_MODELS.get(own.hardware_class, "rack")
    add_cabinet(draft, str(cabinet), own.hardware_class, model)
    fed: list[tuple[str, ...]] = []
    switches = 0
    for xname, chassis in _by_chassis(entries).items():
        if _is_rack(xname, chassis, finder):
            fed += _add_rack(draft, str(xname), chassis, finder, racks)
        else:
            edge = EdgeGroup(group, [])
            _add_liquid(draft, str(xname), chassis, finder, edge, switches)
            switches += len(edge.switches)
    for entry in entries:
        if entry.type == "CabinetPDUController":
            add_pdu(draft, str(entry.xname), max(1, len(fed)), fed)


def _by_chassis(entries: Iterable[Entry]) -> Mapping[Xname, ChassisEntries]:
    by_chassis: dict[Xname, ChassisEntries] = {}
    for entry in entries:
        xname = entry.xname.chassis
        if xname is None:
            continue
        chassis = by_chassis.setdefault(xname, ChassisEntries())
        chassis.stated.add(entry.hardware_class)
        place = entry.xname.ordinals[2] if len(entry.xname.ordinals) > 2 else 0
        if entry.type == "Node":
            chassis.slots.setdefault(place, []).append(entry)
        elif entry.type == "ComputeModule":
            chassis.modules[place] = entry
        elif entry.type in ("RouterModule", "RouterBMC"):
            chassis.switches.add(place)
        elif entry.type in ("MgmtSwitch", "MgmtHLSwitch"):
            chassis.management_switches.append(entry)
    return dict(sorted(by_chassis.items()))


def _is_rack(xname: Xname, chassis: ChassisEntries, finder: BladeFinder) -> bool:
    if len(chassis.classes) > 1:
        finder.mistakes.append(f"{xname} has nodes of the classes {' and '.join(sorted(chassis.classes))}")
    return RIVER in chassis.classes


def _add_liquid(
    draft: Draft, xname: str, chassis: ChassisEntries, finder: BladeFinder, edge: EdgeGroup, first_switch: int
) -> None:
    blades = {slot: _blade(finder, xname, slot, chassis) for slot in sorted(chassis.slots)}
    finder.mistakes += [
        f"{xname} is liquid-cooled and has no slot {slot}" for slot in blades if slot not in LIQUID_SLOTS
    ]
    hardware_class = min(chassis.classes)
    switches = [f"{xname}r{place}" for place in _switch_places(chassis.switches, blades.values())]
    edge.switches += enumerate(switches, first_switch)
    draft.edges.append(edge)
    add_chassis(draft, xname, hardware_class, switches, list(blades))
    for slot, blade in blades.items():
        add_blade(draft, f"{xname}s{slot}", hardware_class, blade)
        _add_places(draft, chassis.slots[slot], blade, edge)


def _switch_places(stated: set[int], blades: Iterable[Blade]) -> list[int]:
    """Slots of switch blades: those in the dump, and as many more as the NICs need, since SLS omits most."""
    nics = sum(len(blade.nodes) * blade.model.hsn_nics for blade in blades)
    missing = -(-nics // EDGE_PORTS) - len(stated)
    free = [place for place in _SWITCH_SLOTS if place not in stated]
    return sorted([*stated, *free[: max(0, missing)]])


def _add_rack(
    draft: Draft, xname: str, chassis: ChassisEntries, finder: BladeFinder, racks: EdgeGroup
) -> list[tuple[str, ...]]:
    """Adds a rack; returns the parts that each outlet of its PDUs feeds."""
    fed: list[tuple[str, ...]] = []
    switches = {
        entry.xname: Part(str(entry.xname), entry.type, str(entry.xname.parent), RIVER)
        for entry in chassis.management_switches
    }
    for part in switches.values():
        if part.type == "MgmtHLSwitch":
            draft.add(part)
    for place in sorted(chassis.switches):
        switch = f"{xname}r{place}"
        add_switch(draft, switch, RIVER, f"{switch}b0")
        racks.switches.append((len(racks.switches), switch))
        fed.append((switch,))
    for slot in sorted(chassis.slots):
        blade = _blade(finder, xname, slot, chassis)
        fed.append(add_cards(draft, f"{xname}s{slot}", RIVER, blade).all)
        _add_places(draft, chassis.slots[slot], blade, racks)
    for part in switches.values():
        if part.type == "MgmtSwitch":
            draft.add(part)
    return fed


def _blade(finder: BladeFinder, chassis: str, slot: int, entries: ChassisEntries) -> Blade:
    return finder.find(f"{chassis}s{slot}", entries.slots[slot], entries.modules.get(slot))


def _add_places(draft: Draft, nodes: list[Entry], blade: Blade, edge: EdgeGroup) -> None:
    for entry in nodes:
        node = str(entry.xname)
        nid = entry.extra.get("NID")
        role = entry.extra.get("Role") or "Compute"
        aliases = tuple(entry.extra.get("Aliases") or ())
        place = NodePlace(
            node, default_nid(entry.xname) if nid is None else nid, role, entry.extra.get("SubRole") or "", aliases
        )
        draft.places[node] = place
        edge.nodes.append((node, blade.model.hsn_nics))
        if role != "Compute":
            draft.running.add(node)


def default_nid(node: Xname) -> int:
    """The NID that HSM derives from an xname when SLS has none."""
    cabinet, chassis, slot, bmc, number = node.ordinals
    return (cabinet + 1) * 16384 + chassis * 2048 + slot * 32 + bmc * 4 + number
