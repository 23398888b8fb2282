"""What Redfish says of a place: the names that controllers give to what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from canton.emulator.faces.smd.redfish_paths import redfish_id
from canton.emulator.machine.parts import Fru, Part
from canton.emulator.wire.call import Json

_MIB_PER_GIB = 1024
_CHASSIS = ("Chassis", "ComputeModule", "RouterModule", "NodeEnclosure", "HSNBoard")


def place_facts(kind: str, ordinal: int, part: Part, fru: Fru) -> Mapping[str, Json]:
    """In the words of the type's LocationInfo."""
    return _FACTS[kind](ordinal, part, fru)


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


def _memory(ordinal: int, _: Part, __: Fru) -> Mapping[str, Json]:
    where = {"Socket": 0, "MemoryController": 0, "Channel": ordinal, "Slot": 0}
    return {"Id": f"DIMM{ordinal}", "Name": f"DIMM {ordinal}", "MemoryLocation": where}


def _manager(_: int, part: Part, __: Fru) -> Mapping[str, Json]:
    return {"Id": redfish_id(part), "Name": "Manager", "Description": "Shasta Manager"}


def _outlet(ordinal: int, _: Part, __: Fru) -> Mapping[str, Json]:
    return {"Id": f"AA{ordinal}", "Name": f"Outlet AA{ordinal}"}


def _pdu(_: int, part: Part, __: Fru) -> Mapping[str, Json]:
    return {"Id": redfish_id(part), "Name": "RackPDU"}


_FACTS: Mapping[str, Callable[[int, Part, Fru], Mapping[str, Json]]] = {
    **dict.fromkeys(_CHASSIS, _chassis),
    "Node": _node,
    "Processor": _numbered("CPU"),
    "NodeAccel": _numbered("GPU"),
    "NodeHsnNic": _numbered("HPCNet"),
    "Drive": _numbered("Drive"),
    "Memory": _memory,
    "NodeBMC": _manager,
    "RouterBMC": _manager,
    "CabinetPDU": _pdu,
    "CabinetPDUPowerConnector": _outlet,
}
