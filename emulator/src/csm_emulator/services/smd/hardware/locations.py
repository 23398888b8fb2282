"""The location info of places: names and sockets, as controllers give them over Redfish."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from csm_emulator.machine.parts import Fru, Part
from csm_emulator.records import Json
from csm_emulator.services.smd.discovery.redfish_paths import redfish_id

_MIB_PER_GIB = 1024
_CHASSIS = ("Chassis", "ComputeModule", "RouterModule", "NodeEnclosure", "HSNBoard")


def place_facts(kind: str, ordinal: int, part: Part, fru: Fru) -> Mapping[str, Json]:
    """The fields of the type's LocationInfo."""
    return _FACTS_OF_TYPE[kind](ordinal, part, fru)


def _chassis(_: int, part: Part, fru: Fru) -> Mapping[str, Json]:
    return {"Id": redfish_id(part), "Name": redfish_id(part), "Description": fru.model, "HostName": ""}


def _node(_: int, part: Part, __: Fru) -> Mapping[str, Json]:
    fittings = part.model.fittings if part.model else ()
    processors = [fitting for fitting in fittings if fitting.fru.kind == "Processor"]
    memory = sum(
        int(str(fitting.fru.facts.get("CapacityMiB", 0))) * fitting.count
        for fitting in fittings
        if fitting.fru.kind == "Memory"
    )
    return {
        "Id": redfish_id(part),
        "Name": redfish_id(part),
        "ProcessorSummary": {
            "Count": sum(fitting.count for fitting in processors),
            "Model": processors[0].fru.model if processors else "",
        },
        "MemorySummary": {"TotalSystemMemoryGiB": memory // _MIB_PER_GIB},
    }


def _numbered(word: str) -> Callable[[int, Part, Fru], Mapping[str, Json]]:
    def facts(ordinal: int, _: Part, fru: Fru) -> Mapping[str, Json]:
        name = f"{word}{ordinal}"
        return {"Id": name, "Name": name, "Description": fru.model, "Socket": name}

    return facts


def _processor(ordinal: int, part: Part, _: Fru) -> Mapping[str, Json]:
    """Manufacturers number processors differently (hms-smd, rfcomponents_test.go)."""
    maker, number = part.model.board.manufacturer if part.model else "", ordinal + 1
    if part.hardware_class != "River":
        return {"Id": f"CPU{ordinal}", "Name": "Processor", "Description": "", "Socket": f"CPU{ordinal}"}
    if maker == "GIGABYTE":
        description = f"Processor Instance {number}"
        return {"Id": str(number), "Name": f"Processor {number}", "Description": description, "Socket": f"P{ordinal}"}
    if maker.startswith("Intel"):
        return {"Id": f"CPU{number}", "Name": f"Processor {number}", "Description": "", "Socket": f"CPU {number}"}
    return {"Id": str(number), "Name": "Processors", "Description": "", "Socket": f"Proc {number}"}


def _hsn_nic(ordinal: int, part: Part, fru: Fru) -> Mapping[str, Json]:
    if part.hardware_class == "River":
        return _numbered("HPCNet")(ordinal, part, fru)
    return {"Id": f"HPCNet{ordinal}", "Name": "", "Description": "SS11 200Gb 2P NIC Mezz REV02 (HSN)"}


def _memory(ordinal: int, _: Part, __: Fru) -> Mapping[str, Json]:
    location = {"Socket": 0, "MemoryController": 0, "Channel": ordinal, "Slot": 0}
    return {"Id": f"DIMM{ordinal}", "Name": f"DIMM{ordinal}", "MemoryLocation": location}


def _manager(_: int, part: Part, __: Fru) -> Mapping[str, Json]:
    name = "Manager" if part.hardware_class == "River" else redfish_id(part)
    return {"Id": redfish_id(part), "Name": name, "Description": "Shasta Manager"}


def _outlet(ordinal: int, _: Part, __: Fru) -> Mapping[str, Json]:
    return {"Id": f"AA{ordinal}", "Name": f"Outlet AA{ordinal}"}


def _pdu(_: int, part: Part, __: Fru) -> Mapping[str, Json]:
    return {"Id": redfish_id(part), "Name": "RackPDU"}


_FACTS_OF_TYPE: Mapping[str, Callable[[int, Part, Fru], Mapping[str, Json]]] = {
    **dict.fromkeys(_CHASSIS, _chassis),
    "Node": _node,
    "Processor": _processor,
    "NodeAccel": _numbered("GPU"),
    "NodeHsnNic": _hsn_nic,
    "Drive": _numbered("Drive"),
    "Memory": _memory,
    "NodeBMC": _manager,
    "RouterBMC": _manager,
    "CabinetPDU": _pdu,
    "CabinetPDUPowerConnector": _outlet,
}
