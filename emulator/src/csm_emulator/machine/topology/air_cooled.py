"""Air-cooled racks: servers, top-of-rack switches, PDUs and the switches of the management networks.

A server has two power supplies, each on an outlet of another PDU: it loses power when both are off.
"""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.parts import NodePlace, Part
from csm_emulator.machine.topology.draft import Draft, EdgeGroup, add_cards, nid_alias
from csm_emulator.machine.topology.liquid_cooled import add_switch
from csm_emulator.records import Record

RIVER = "River"
_BEFORE_FIRST_NID = {"Compute": 0, "Management": 100_000, "Application": 200_000}


class RackNumbers:
    """Counters over all racks: NIDs and the numbers in aliases."""

    def __init__(self) -> None:
        self._last = dict(_BEFORE_FIRST_NID)
        self._aliases: dict[str, int] = {}

    def next_nid(self, role: str) -> int:
        self._last[role] += 1
        return self._last[role]

    def next_alias(self, pattern: str) -> str:
        self._aliases[pattern] = self._aliases.get(pattern, 0) + 1
        return pattern.format(self._aliases[pattern])


def add_rack(draft: Draft, plan: Record, edge: EdgeGroup, numbers: RackNumbers) -> None:
    cabinet = f"x{plan['cabinet']}"
    draft.add(Part(cabinet, "Cabinet", "s0", RIVER, fru=draft.catalogue.frus["cabinet-rack"]))
    chassis = f"{cabinet}c0"
    for unit in plan.get("spines", ()):
        draft.add(Part(f"{chassis}h{unit}s1", "MgmtHLSwitch", f"{chassis}h{unit}", RIVER))
    fed: list[tuple[str, ...]] = []
    for unit in plan.get("switches", ()):
        switch = f"{chassis}r{unit}"
        add_switch(draft, switch, RIVER, f"{switch}b0")
        edge.switches.append((len(edge.switches), switch))
        fed.append((switch,))
    fed += _add_servers(draft, plan["servers"], chassis, edge, numbers)
    if "leaf" in plan:
        draft.add(Part(f"{chassis}w{plan['leaf']}", "MgmtSwitch", chassis, RIVER))
    for pdu in range(plan.get("pdus", 0)):
        add_pdu(draft, f"{cabinet}m{pdu}", plan["outlets"], fed)


def add_pdu(draft: Draft, controller: str, outlets: int, fed: Sequence[tuple[str, ...]]) -> None:
    """Adds a PDU: its first outlets feed one device each, the others are free."""
    if len(fed) > outlets:
        raise ValueError(f"{controller} has {outlets} outlets for {len(fed)} devices")
    unit = f"{controller}p0"
    cabinet = controller[: controller.rindex("m")]
    draft.add(Part(controller, "CabinetPDUController", cabinet, RIVER, controller))
    draft.add(Part(unit, "CabinetPDU", controller, RIVER, controller, fru=draft.catalogue.frus["pdu"]))
    for number in range(outlets):
        feeds = fed[number] if number < len(fed) else ()
        draft.add(Part(f"{unit}v{number + 1}", "CabinetPDUPowerConnector", unit, RIVER, controller, feeds))


def _add_servers(
    draft: Draft, plans: list[Record], chassis: str, edge: EdgeGroup, numbers: RackNumbers
) -> list[tuple[str, ...]]:
    """Adds servers; returns the parts that the power supplies of each server feed."""
    fed = []
    by_unit = {unit: server for server in plans for unit in server["units"]}
    for unit, server in sorted(by_unit.items()):
        blade = draft.catalogue.blades[server["model"]]
        cards = add_cards(draft, f"{chassis}s{unit}", RIVER, blade)
        fed.append(cards.all)
        for node in cards.nodes:
            draft.places[node] = _place(node, server, numbers)
            edge.nodes.append((node, blade.model.hsn_nics))
        if server.get("up"):
            draft.running.update(cards.nodes)
    return fed


def _place(node: str, server: Record, numbers: RackNumbers) -> NodePlace:
    role = server["role"]
    nid = numbers.next_nid(role)
    alias = numbers.next_alias(server["alias"]) if "alias" in server else nid_alias(nid)
    return NodePlace(node, nid, role, server.get("sub_role", ""), (alias,))
