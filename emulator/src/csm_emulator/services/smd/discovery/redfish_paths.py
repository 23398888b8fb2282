"""Where a controller keeps what it holds: paths below ``/redfish/v1``, as Cray's and HPE's controllers have them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from csm_emulator.machine.parts import Part

ROOT = "/redfish/v1"
_ORDINAL = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class Shape:
    collection: str
    id: str
    """``{}`` is the ordinal of the part."""
    kind: str
    subtype: str


_LIQUID = {
    "Node": Shape("Systems", "Node{}", "ComputerSystem", "Physical"),
    "NodeBMC": Shape("Managers", "BMC", "Manager", "EnclosureManager"),
    "ChassisBMC": Shape("Managers", "BMC", "Manager", "EnclosureManager"),
    "RouterBMC": Shape("Managers", "BMC", "Manager", "EnclosureManager"),
    "NodeEnclosure": Shape("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "Chassis": Shape("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "ComputeModule": Shape("Chassis", "Blade{}", "Chassis", "Blade"),
    "RouterModule": Shape("Chassis", "Perif{}", "Chassis", "Blade"),
    "HSNBoard": Shape("Chassis", "Enclosure", "Chassis", "Enclosure"),
}
_RACK = {
    **_LIQUID,
    "Node": Shape("Systems", "1", "ComputerSystem", "Physical"),
    "NodeBMC": Shape("Managers", "1", "Manager", "BMC"),
    "NodeEnclosure": Shape("Chassis", "1", "Chassis", "RackMount"),
    "RouterModule": Shape("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "HSNBoard": Shape("Chassis", "Card", "Chassis", "Card"),
    "CabinetPDUController": Shape("Managers", "BMC", "Manager", "BMC"),
    "CabinetPDU": Shape("PowerEquipment/RackPDUs", "1", "PowerDistribution", "RackPDU"),
    "CabinetPDUPowerConnector": Shape("PowerEquipment/RackPDUs/1/Outlets", "AA{}", "Outlet", "Outlet"),
}


def shape(part: Part) -> Shape | None:
    """None for what no controller speaks for."""
    if not part.controller:
        return None
    return (_RACK if part.hardware_class == "River" else _LIQUID).get(part.type)


def ordinal(part: Part) -> int:
    found = _ORDINAL.search(part.xname)
    return int(found[0]) if found else 0


def redfish_id(part: Part) -> str:
    found = shape(part)
    return found.id.format(ordinal(part)) if found else ""


def path(part: Part) -> str:
    found = shape(part)
    return f"{ROOT}/{found.collection}/{redfish_id(part)}" if found else ""
