"""The components of a machine that was discovered before the emulator starts."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json

BOARDS = ("Chassis", "ComputeModule", "NodeEnclosure", "RouterModule", "HSNBoard")
CONTROLLERS = ("ChassisBMC", "NodeBMC", "RouterBMC", "CabinetPDUController")
POWER = ("CabinetPDU", "CabinetPDUOutlet", "CabinetPDUPowerConnector")
"""Types that Redfish has as chassis, managers and power distribution; its systems are nodes. (cmd/smd/components.go)"""


def components(machine: Machine) -> Mapping[str, Json]:
    return {part.xname: component(machine, part) for part in machine.parts(*BOARDS, *CONTROLLERS, "Node", *POWER)}


def component(machine: Machine, part: Part) -> Json:
    if part.type == "Node":
        return _node(machine, part)
    record = {
        "ID": part.xname,
        "Type": part.type,
        "State": "Ready" if part.type in CONTROLLERS else "On",
        "Flag": "OK",
        "Enabled": True,
    }
    if part.type not in POWER:
        # SMD gives X86 to everything but nodes, whatever the processor is.
        record |= {"NetType": "Sling", "Arch": "X86"}
    return record | {"Class": part.hardware_class}


def _node(machine: Machine, part: Part) -> Json:
    place = machine.place(part.xname)
    fields = {
        "ID": part.xname,
        "Type": "Node",
        "State": "Ready" if part.xname in machine.topology.running else "Off",
        "Flag": "OK",
        "Enabled": True,
        "Role": place.role if place else "Compute",
        "SubRole": place.sub_role if place else "",
        "NID": place.nid if place else -1,
        "NetType": "Sling",
        "Arch": part.model.arch if part.model else "UNKNOWN",
        "Class": part.hardware_class,
    }
    return {name: value for name, value in fields.items() if value not in ("", -1)}
