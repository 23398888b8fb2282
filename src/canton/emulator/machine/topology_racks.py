"""Air-cooled racks: servers, top-of-rack switches, PDUs and the switches of the management networks.

A server has two power supplies, each on an outlet of another PDU: it goes dark when both are off.
"""

from __future__ import annotations

from typing import Any

from canton.emulator.machine.parts import NodePlace, Part
from canton.emulator.machine.topology_blades import Blade
from canton.emulator.machine.topology_draft import Draft, Edge, nid_alias
from canton.emulator.machine.topology_liquid import add_switch

RIVER = "River"


class RackNumbers:
    """What counts on over all racks: NIDs and the numbers in aliases."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {"Compute": 0, "Management": 100_000, "Application": 200_000}
        self._aliases: dict[str, int] = {}

    def next_nid(self, role: str) -> int:
        self._last[role] += 1
        return self._last[role]

    def next_alias(self, pattern: str) -> str:
        self._aliases[pattern] = self._aliases.get(pattern, 0) + 1
        return pattern.format(self._aliases[pattern])


def add_rack(draft: Draft, plan: dict[str, Any], edge: Edge, numbers: RackNumbers) -> None:
    cabinet = f"x{plan['cabinet']}"
    draft.add(Part(cabinet, "Cabinet", "s0", RIVER))
    chassis = f"{cabinet}c0"
    for unit in plan.get("spine_switches", ()):
        draft.add(Part(f"{chassis}h{unit}s1", "MgmtHLSwitch", f"{chassis}h{unit}", RIVER))
    fed = []
    for unit in plan.get("switches", ()):
        switch = f"{chassis}r{unit}"
        add_switch(draft, switch, RIVER, f"{switch}b0")
        edge.switches.append((len(edge.switches), switch))
        fed.append((switch,))
    fed += _add_servers(draft, plan, chassis, edge, numbers)
    if "mgmt_switch" in plan:
        draft.add(Part(f"{chassis}w{plan['mgmt_switch']}", "MgmtSwitch", chassis, RIVER))
    for pdu in range(plan.get("pdus", 0)):
        add_pdu(draft, f"{cabinet}m{pdu}", plan["outlets"], fed)


def add_pdu(draft: Draft, controller: str, outlets: int, fed: list[tuple[str, ...]]) -> None:
    """The first outlets feed what is named, one each; the rest are free."""
    if len(fed) > outlets:
        raise ValueError(f"{controller} has {outlets} outlets for {len(fed)} devices")
    unit = f"{controller}p0"
    cabinet = controller[: controller.rindex("m")]
    draft.add(Part(controller, "CabinetPDUController", cabinet, RIVER, controller))
    draft.add(Part(unit, "CabinetPDU", controller, RIVER, controller, fru=draft.catalogue.frus["pdu"]))
    for number in range(outlets):
        feeds = fed[number] if number < len(fed) else ()
        draft.add(Part(f"{unit}v{number + 1}", "CabinetPDUPowerConnector", unit, RIVER, controller, feeds))


def add_server(draft: Draft, slot: str, blade: Blade) -> tuple[list[str], tuple[str, ...]]:
    """Its nodes, and all that its power supplies feed."""
    frus = draft.catalogue.frus
    bmcs = [f"{slot}b{bmc}" for bmc in blade.controllers]
    nodes = [f"{slot}b{bmc}n{node}" for bmc, node in blade.nodes]
    enclosures = [f"{slot}e{bmc}" for bmc in blade.controllers]
    for bmc in bmcs:
        draft.add(Part(bmc, "NodeBMC", slot, RIVER, bmc, fru=frus["bmc-ilo"]))
        for node in nodes:
            if node.startswith(f"{bmc}n"):
                draft.add(Part(node, "Node", bmc, RIVER, bmc, model=blade.model))
    for bmc, enclosure in zip(bmcs, enclosures, strict=True):
        draft.add(Part(enclosure, "NodeEnclosure", slot, RIVER, bmc, fru=frus["enclosure-rack"]))
    return nodes, (*bmcs, *enclosures, *nodes)


def _add_servers(
    draft: Draft, plan: dict[str, Any], chassis: str, edge: Edge, numbers: RackNumbers
) -> list[tuple[str, ...]]:
    fed = []
    by_unit = {unit: server for server in plan["servers"] for unit in server["units"]}
    for unit, server in sorted(by_unit.items()):
        blade = draft.catalogue.blades[server["model"]]
        nodes, feeds = add_server(draft, f"{chassis}s{unit}", blade)
        fed.append(feeds)
        for node in nodes:
            draft.places[node] = _place(node, server, numbers)
            edge.nodes.append((node, blade.model.hsn_nics))
        if server.get("up"):
            draft.running.update(nodes)
    return fed


def _place(node: str, server: dict[str, Any], numbers: RackNumbers) -> NodePlace:
    role = server["role"]
    nid = numbers.next_nid(role)
    alias = numbers.next_alias(server["alias"]) if "alias" in server else nid_alias(nid)
    return NodePlace(node, nid, role, server.get("sub_role", ""), (alias,))
