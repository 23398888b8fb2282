"""``/Inventory/Hardware/Query/{xname}``: a place with all hardware inside it, sorted by type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.enums import TYPE, spelled
from csm_emulator.services.smd.groups.partition_members import in_partitions, partition_names
from csm_emulator.services.smd.hardware.json_texts import HardwareTexts
from csm_emulator.services.smd.hardware.records import quick_kind, within
from csm_emulator.services.smd.hardware.types import ARRAYS
from csm_emulator.services.smd.inventory import Inventory
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import problem
from csm_emulator.transport.call import JSON, Call, Reply, utf8
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/Hardware/Query"
FORMATS = {"fullyflat": "FullyFlat", "nestnodesonly": "NestNodesOnly"}
_BOOLS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_PARENT = re.compile(r"[a-z]*[0-9]*$")
_NODE = re.compile("^x[0-9]+c[0-9]+s[0-9]+b[0-9]+n[0-9]+")
IN_NODES = ("Processor", "NodeAccel", "Memory", "Drive", "NodeHsnNic", "NodeAccelRiser")


class _InvalidQuery(Exception):
    """The query is invalid; the text goes to the caller."""


@dataclass(frozen=True, slots=True)
class HardwareQuery:
    xname: str
    """Empty for the whole machine."""
    types: frozenset[str]
    partitions: tuple[str, ...]
    parents: bool
    children: bool
    format: str


def _parse_query(call: Call) -> HardwareQuery:
    text = call.args["xname"]
    type_ = hms_type(normal(text)) if text == text.strip().lower() else ""
    if not type_:
        raise _InvalidQuery("Invalid xname")
    types = values(call, "type")
    if not all(spelled(TYPE, word) for word in types):
        raise _InvalidQuery("Invalid HMS type")
    partition_texts = [*values(call, "partition"), text] if type_ == "Partition" else values(call, "partition")
    partitions = partition_names(partition_texts)
    if partitions is None:
        raise _InvalidQuery("Invalid partition")
    parents = _switch(call, "parents")
    children = _switch(call, "children")
    return HardwareQuery(
        "" if type_ in ("System", "All", "Partition") else normal(text),
        frozenset(spelled(TYPE, word) for word in types),
        tuple(partitions),
        bool(parents),
        (not parents) if children is None else children,
        _format(call),
    )


def _switch(call: Call, name: str) -> bool | None:
    """None without the parameter."""
    texts = values(call, name)
    if not texts:
        return None
    text = texts[0]
    if text not in _BOOLS and text not in ("T", "TRUE", "True", "F", "FALSE", "False"):
        raise _InvalidQuery(f"Invalid boolean for {name}")
    return _BOOLS[text.lower()]


def _format(call: Call) -> str:
    texts = values(call, "format")
    if not texts:
        return "NestNodesOnly"
    if texts[0].lower() not in FORMATS:
        raise _InvalidQuery("Invalid format")
    return FORMATS[texts[0].lower()]


def _select(hsm: Hsm, query: HardwareQuery) -> list[str]:
    ancestors = list(_ancestors(query.xname, with_system=not query.children)) if query.parents and query.xname else []
    xnames = _candidates(hsm.inventory, query, ancestors)
    if not query.partitions:
        return xnames
    in_partition = in_partitions(hsm, query.partitions)
    # SMD joins the conditions without parentheses: with children, the partition filters the parents alone.
    exempt_children = bool(ancestors) and query.children
    return [xname for xname in xnames if (exempt_children and xname not in ancestors) or in_partition(xname)]


def _candidates(inventory: Inventory, query: HardwareQuery, ancestors: Sequence[str]) -> list[str]:
    def of_types(xnames: Iterable[str]) -> list[str]:
        return [xname for xname in xnames if not query.types or quick_kind(xname) in query.types]

    if query.children and query.types and not query.parents:
        roots = of_types(_below(inventory, query.xname))
        # Without any, SMD's pattern is empty and matches everything.
        return within(inventory, roots) if roots else list(inventory.hardware)
    if query.children:
        return [*_present(inventory, ancestors), *_below(inventory, query.xname)]
    if query.types and not query.parents:
        return of_types(_below(inventory, query.xname))
    exact = [query.xname, *ancestors] if query.xname else ancestors
    return of_types(_present(inventory, exact) if exact else inventory.hardware)


def _below(inventory: Inventory, xname: str) -> Iterable[str]:
    return within(inventory, [xname]) if xname else inventory.hardware


def _present(inventory: Inventory, upwards: Sequence[str]) -> list[str]:
    """The places with hardware, outermost first."""
    return [xname for xname in reversed(upwards) if xname in inventory.hardware]


def _ancestors(xname: str, *, with_system: bool) -> Iterable[str]:
    while hms_type(xname) and xname != "s0":
        xname = "s0" if hms_type(xname) in ("Cabinet", "CDU") else _PARENT.sub("", xname, count=1)
        if hms_type(xname) and (with_system or xname != "s0"):
            yield xname


def _sorted(xnames: Sequence[str], nested: bool) -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    """Array → places at the top level; and node or PDU → array → places that are nested inside it."""
    arrays: dict[str, list[str]] = {name: [] for name in ARRAYS.values()}
    hosts = {xname for xname in xnames if quick_kind(xname) in ("Node", "CabinetPDU")} if nested else set()
    inside: dict[str, dict[str, list[str]]] = {}
    for xname in xnames:
        type_ = quick_kind(xname)
        outlet = type_ in ("CabinetPDUOutlet", "CabinetPDUPowerConnector")
        array = ARRAYS["CabinetPDUPowerConnector" if outlet else type_]
        host = _PARENT.sub("", xname, count=1) if outlet else _NODE.findall(xname)[0] if type_ in IN_NODES else ""
        if host in hosts:
            inside.setdefault(host, {}).setdefault(array, []).append(xname)
        elif not (nested and outlet):
            # In the nested format, SMD omits outlets without their PDU.
            arrays[array].append(xname)
    return arrays, inside


class _QueryWriter:
    """Encodes the records one by one, since a whole machine is long."""

    def __init__(self, text: Callable[[str], str], inside: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._text = text
        self._inside = inside
        self._buffer = BytesIO()

    def query_result(self, head: Json, arrays: Mapping[str, Sequence[str]]) -> bytes:
        self._buffer.write(utf8(marshal(head)[:-1]))
        self.arrays(arrays)
        self._buffer.write(b"}\n")
        return self._buffer.getvalue()

    def arrays(self, arrays: Mapping[str, Sequence[str]]) -> None:
        """Write the arrays in SMD's order."""
        for name in ARRAYS.values():
            if arrays.get(name):
                self._buffer.write(f',"{name}":['.encode())
                for index, xname in enumerate(arrays[name]):
                    self._buffer.write(b"," if index else b"")
                    self._record(xname)
                self._buffer.write(b"]")

    def _record(self, xname: str) -> None:
        self._buffer.write(utf8(self._text(xname)[:-1]))
        if xname in self._inside:
            self.arrays(self._inside[xname])
        self._buffer.write(b"}")


def routes(hsm: Hsm) -> Sequence[Route]:
    texts = HardwareTexts(hsm.inventory)

    def query(call: Call) -> Reply:
        try:
            hardware_query = _parse_query(call)
        except _InvalidQuery as error:
            return problem(400, str(error))
        arrays, inside = _sorted(_select(hsm, hardware_query), hardware_query.format == "NestNodesOnly")
        head = {"XName": call.args["xname"], "Format": hardware_query.format}
        return Reply(200, _QueryWriter(texts.of, inside).query_result(head, arrays), JSON)

    return (Route("GET", f"{BASE}/{{xname}}", query),)
