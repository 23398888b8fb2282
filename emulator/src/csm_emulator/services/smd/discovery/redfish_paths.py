"""The Redfish paths of parts below ``/redfish/v1``, as Cray's and HPE's controllers have them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from csm_emulator.machine.parts import Part

ROOT = "/redfish/v1"
_ORDINAL = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class RedfishResource:
    collection: str
    id: str
    """``{}`` stands for the ordinal of the part."""
    kind: str
    subtype: str


_LIQUID_COOLED_RESOURCES = {
    "Node": RedfishResource("Systems", "Node{}", "ComputerSystem", "Physical"),
    "NodeBMC": RedfishResource("Managers", "BMC", "Manager", "EnclosureManager"),
    "ChassisBMC": RedfishResource("Managers", "BMC", "Manager", "EnclosureManager"),
    "RouterBMC": RedfishResource("Managers", "BMC", "Manager", "EnclosureManager"),
    "NodeEnclosure": RedfishResource("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "Chassis": RedfishResource("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "ComputeModule": RedfishResource("Chassis", "Blade{}", "Chassis", "Blade"),
    "RouterModule": RedfishResource("Chassis", "Perif{}", "Chassis", "Blade"),
    "HSNBoard": RedfishResource("Chassis", "Enclosure", "Chassis", "Enclosure"),
}
_RACK_RESOURCES = {
    **_LIQUID_COOLED_RESOURCES,
    "Node": RedfishResource("Systems", "1", "ComputerSystem", "Physical"),
    "NodeBMC": RedfishResource("Managers", "1", "Manager", "BMC"),
    "NodeEnclosure": RedfishResource("Chassis", "1", "Chassis", "RackMount"),
    "RouterModule": RedfishResource("Chassis", "Enclosure", "Chassis", "Enclosure"),
    "HSNBoard": RedfishResource("Chassis", "Card", "Chassis", "Card"),
    "CabinetPDUController": RedfishResource("Managers", "BMC", "Manager", "BMC"),
    "CabinetPDU": RedfishResource("PowerEquipment/RackPDUs", "1", "PowerDistribution", "RackPDU"),
    "CabinetPDUPowerConnector": RedfishResource("PowerEquipment/RackPDUs/1/Outlets", "AA{}", "Outlet", "Outlet"),
}


def redfish_resource(part: Part) -> RedfishResource | None:
    """None for a part without a controller."""
    if not part.controller:
        return None
    return (_RACK_RESOURCES if part.hardware_class == "River" else _LIQUID_COOLED_RESOURCES).get(part.type)


def ordinal(part: Part) -> int:
    match = _ORDINAL.search(part.xname)
    return int(match[0]) if match else 0


def redfish_id(part: Part) -> str:
    resource = redfish_resource(part)
    return resource.id.format(ordinal(part)) if resource else ""


def path(part: Part) -> str:
    resource = redfish_resource(part)
    return f"{ROOT}/{resource.collection}/{redfish_id(part)}" if resource else ""
