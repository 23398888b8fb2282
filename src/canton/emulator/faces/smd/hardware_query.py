"""``/Inventory/Hardware/Query/{xname}``: a part of the machine with everything in it, sorted by type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from canton.emulator.faces.smd.forms import values
from canton.emulator.faces.smd.hardware_records import lies_in, on_wire
from canton.emulator.faces.smd.hardware_types import ARRAYS
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.partition_members import in_partitions, partition_names
from canton.emulator.faces.smd.problems import answer, problem
from canton.emulator.faces.smd.vocabulary import TYPE, spelled
from canton.emulator.faces.smd.xnames import kind, normal
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.routes import Route

BASE = "/hsm/v2/Inventory/Hardware/Query"
FORMATS = {"fullyflat": "FullyFlat", "nestnodesonly": "NestNodesOnly"}
_BOOLS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_PARENT = re.compile(r"[a-z]*[0-9]*$")
IN_NODES = ("Processor", "NodeAccel", "Memory", "Drive", "NodeHsnNic", "NodeAccelRiser")


class _Wrong(Exception):
    """What to tell the caller."""


@dataclass(frozen=True, slots=True)
class Question:
    xname: str
    """Empty for the whole machine."""
    types: frozenset[str]
    partitions: tuple[str, ...]
    parents: bool
    children: bool
    format: str


def _question(call: Call) -> Question:
    text = call.args["xname"]
    found = kind(normal(text)) if text == text.strip().lower() else ""
    if not found:
        raise _Wrong("Invalid xname")
    types = values(call, "type")
    if not all(spelled(TYPE, each) for each in types):
        raise _Wrong("Invalid HMS type")
    named = [*values(call, "partition"), text] if found == "Partition" else values(call, "partition")
    partitions = partition_names(named)
    if partitions is None:
        raise _Wrong("Invalid partition")
    parents = _switch(call, "parents")
    children = _switch(call, "children")
    return Question(
        "" if found in ("System", "All", "Partition") else normal(text),
        frozenset(spelled(TYPE, each) for each in types),
        tuple(partitions),
        bool(parents),
        (not parents) if children is None else children,
        _format(call),
    )


def _switch(call: Call, name: str) -> bool | None:
    """None when it was not said."""
    said = values(call, name)
    if not said:
        return None
    text = said[0]
    if text not in _BOOLS and text not in ("T", "TRUE", "True", "F", "FALSE", "False"):
        raise _Wrong(f"Invalid boolean for {name}")
    return _BOOLS[text.lower()]


def _format(call: Call) -> str:
    said = values(call, "format")
    if not said:
        return "NestNodesOnly"
    if said[0].lower() not in FORMATS:
        raise _Wrong("Invalid format")
    return FORMATS[said[0].lower()]


def _select(hsm: Hsm, asked: Question) -> list[Json]:
    inventory = hsm.inventory
    ancestors = set(_ancestors(asked.xname, with_system=not asked.children)) if asked.parents and asked.xname else set()
    chosen = _chosen(inventory.hardware, asked, ancestors)
    if asked.partitions:
        member = in_partitions(hsm, asked.partitions)
        if ancestors and asked.children:
            # SMD joins the conditions without parentheses: the partition is asked of the parents alone.
            chosen = [xname for xname in chosen if xname not in ancestors or member(xname)]
        else:
            chosen = [xname for xname in chosen if member(xname)]
    return [on_wire(inventory, inventory.hardware[xname]) for xname in chosen]


def _chosen(hardware: Mapping[str, Json], asked: Question, ancestors: set[str]) -> list[str]:
    below = {asked.xname} if asked.xname else None
    if asked.children and asked.types and not asked.parents:
        tops = {xname for xname in _below(hardware, below) if hardware[xname]["Type"] in asked.types}
        # Without any, SMD's pattern is empty and fits everything.
        return list(_below(hardware, tops or None))
    if asked.children:
        found = set(_below(hardware, below)) | ancestors
        return [xname for xname in hardware if xname in found]
    if asked.types and not asked.parents:
        return [xname for xname in _below(hardware, below) if hardware[xname]["Type"] in asked.types]
    exact = ancestors | ({asked.xname} if asked.xname else set())
    return [
        xname
        for xname in ([each for each in hardware if each in exact] if exact else hardware)
        if not asked.types or hardware[xname]["Type"] in asked.types
    ]


def _below(hardware: Mapping[str, Json], places: set[str] | None) -> Iterable[str]:
    return (xname for xname in hardware if places is None or lies_in(xname, places))


def _ancestors(xname: str, *, with_system: bool) -> Iterable[str]:
    while kind(xname) and xname != "s0":
        xname = "s0" if kind(xname) in ("Cabinet", "CDU") else _PARENT.sub("", xname, count=1)
        if kind(xname) and (with_system or xname != "s0"):
            yield xname


def _sorted(locations: Sequence[Json], nested: bool) -> dict[str, list[Json]]:
    arrays: dict[str, list[Json]] = {name: [] for name in ARRAYS.values()}
    nodes = {each["ID"]: each for each in locations if each["Type"] == "Node"} if nested else {}
    units = {each["ID"]: each for each in locations if each["Type"] == "CabinetPDU"} if nested else {}
    for location in locations:
        type_ = "CabinetPDUPowerConnector" if location["Type"] == "CabinetPDUOutlet" else location["Type"]
        array = ARRAYS[type_]
        if nested and type_ == "CabinetPDUPowerConnector":
            unit = units.get(_PARENT.sub("", location["ID"], count=1))
            if unit is not None:
                unit.setdefault(array, []).append(location)
            # Outlets without their PDU are left out altogether.
            continue
        node = nodes.get(_node_of(location["ID"])) if type_ in IN_NODES else None
        (arrays[array] if node is None else node.setdefault(array, [])).append(location)
    return arrays


def _node_of(xname: str) -> str:
    while xname and kind(xname) != "Node":
        xname = _PARENT.sub("", xname, count=1)
    return xname


def _in_order(location: Json) -> Json:
    """Arrays come in the order of the wire, whichever was filled first."""
    arrays = [name for name in ARRAYS.values() if name in location]
    if len(arrays) < 2:
        return location
    return {**{key: value for key, value in location.items() if key not in arrays}, **{n: location[n] for n in arrays}}


def routes(hsm: Hsm) -> Sequence[Route]:
    def query(call: Call) -> Reply:
        try:
            asked = _question(call)
        except _Wrong as wrong:
            return problem(400, str(wrong))
        arrays = _sorted(_select(hsm, asked), asked.format == "NestNodesOnly")
        found = {name: [_in_order(each) for each in array] for name, array in arrays.items() if array}
        return answer({"XName": call.args["xname"], "Format": asked.format, **found})

    return (Route("GET", f"{BASE}/{{xname}}", query),)
