"""The component types and power operations of PCS, and what they are in Redfish."""

from __future__ import annotations

from functools import lru_cache

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Part
from csm_emulator.machine.power import RESETS

OPERATIONS = {
    name.lower(): name for name in ("On", "Off", "Soft-Restart", "Hard-Restart", "Init", "Force-Off", "Soft-Off")
}
BMCS = ("ChassisBMC", "NodeBMC", "RouterBMC")
MODULES = ("RouterModule", "ComputeModule")
SWITCHES = ("MgmtSwitch", "MgmtHLSwitch", "CDUMgmtSwitch")
POWERED = frozenset({"Chassis", "Node", "CabinetPDUPowerConnector", *BMCS, *MODULES, *SWITCHES})
"""The types that have a power status and take power operations."""
INVALID = ""
"""The type of a text that is not an xname."""


def type_of(machine: Machine, xname: str) -> str:
    part = machine.part(xname)
    return part.type if part else hms_type(xname)


def actions_of(part: Part | None) -> tuple[str, ...]:
    """The ResetTypes that the component's Redfish allows."""
    return RESETS.get(part.type, ()) if part else ()


_OPERATIONS_BY_ACTION = {
    "forceoff": ("Force-Off",),
    "forcerestart": ("Soft-Restart",),
    "gracefulrestart": ("Soft-Restart",),
    "off": ("Soft-Off", "Off"),
    "gracefulshutdown": ("Soft-Off", "Off"),
    "on": ("On",),
}


@lru_cache(maxsize=64)
def operations_for(actions: tuple[str, ...]) -> tuple[str, ...]:
    """The operations that these ResetTypes allow, in the order of ``toPCSPowerActions`` of domain/power-status.go."""
    operations: dict[str, None] = {}
    for action in actions:
        operations.update(dict.fromkeys(_OPERATIONS_BY_ACTION.get(action.lower(), ())))
    if "On" in operations and "Off" in operations:
        operations.update(dict.fromkeys(("Init", "Hard-Restart", "Soft-Restart")))
    return tuple(operations)


def redfish_url(part: Part) -> str:
    """The URL of a component's reset action, for error texts."""
    stem = part.xname.rstrip("0123456789")
    ordinal = part.xname[len(stem) :]
    paths = {
        "Node": f"/redfish/v1/Systems/Node{ordinal}/Actions/ComputerSystem.Reset",
        "Chassis": "/redfish/v1/Chassis/Enclosure/Actions/Chassis.Reset",
        "ComputeModule": f"/redfish/v1/Chassis/Blade{ordinal}/Actions/Chassis.Reset",
        "RouterModule": f"/redfish/v1/Chassis/Perif{ordinal}/Actions/Chassis.Reset",
        "CabinetPDUPowerConnector": f"/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/{ordinal}/Actions/PowerControl",
    }
    path = paths.get(part.type, "/redfish/v1/Managers/BMC/Actions/Manager.Reset")
    if part.type == "Node" and part.hardware_class == "River":
        path = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
    return f"https://{part.controller or part.xname}{path}"
