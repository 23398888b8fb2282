"""``/Inventory/Hardware`` and ``/Inventory/HardwareByFRU``: places, and the FRUs in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from csm_emulator.dialects.go_json.types import encode
from csm_emulator.dialects.hms.names import hms_type, normal, verified
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.enums import TYPE, spelled
from csm_emulator.services.smd.errors import with_body
from csm_emulator.services.smd.groups.partition_members import in_partitions, partition_names
from csm_emulator.services.smd.hardware import history as hardware_history
from csm_emulator.services.smd.hardware import query as hardware_query
from csm_emulator.services.smd.hardware.json_texts import HardwareTexts, array_reply, records_reply
from csm_emulator.services.smd.hardware.records import on_wire, quick_kind, store
from csm_emulator.services.smd.hardware.types import (
    POSTED,
    TYPES,
    WITHOUT_PART_NUMBER,
    fru_id,
    fru_key,
    place_key,
    stem,
)
from csm_emulator.services.smd.inventory import Inventory
from csm_emulator.services.smd.postgres_text import LONGEST_XNAME, storable
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.services.smd.sql_patterns import like
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/Hardware"
_ORDINAL = re.compile("[0-9]+$")
_MAX_INT32 = (1 << 31) - 1
RecordTest = Callable[[Json], bool]


class Hardware:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._inventory: Inventory = hsm.inventory
        self._text = HardwareTexts(hsm.inventory).of

    def read(self, call: Call) -> Reply:
        if not storable(call.args["xname"]):
            return problem(500, "failed to query DB.")
        record = self._inventory.hardware.get(normal(call.args["xname"]))
        return json_reply(on_wire(self._inventory, record)) if record else problem(404, "no such xname.")

    def list_places(self, call: Call) -> Reply:
        xnames = values(call, "id")
        if not all(map(verified, xnames)):
            return problem(400, "Invalid xname")
        types = values(call, "type")
        if not all(spelled(TYPE, text) for text in types):
            return problem(400, "Invalid HMS type")
        partitions = partition_names(values(call, "partition"))
        if partitions is None:
            return problem(400, "Invalid partition")
        candidates = [verified(xname) for xname in xnames] or self._places_of(call)
        places = self._places(candidates, {spelled(TYPE, text) for text in types})
        if partitions:
            in_partition = in_partitions(self._hsm, partitions)
            places = [xname for xname in places if in_partition(xname)]
        tests, frus = _fru_tests(call), values(call, "fruid")
        return (
            records_reply(self._matching_records(places, tests, frus))
            if tests or frus
            else array_reply(map(self._text, places))
        )

    def _places_of(self, call: Call) -> list[str] | None:
        """Places that may have the requested FRU ids or serial numbers; None when the query has neither."""
        frus, serials = values(call, "fruid"), values(call, "serialnumber")
        if not frus and not serials:
            return None
        seeds, touched = self._inventory.hardware_seeds, list(self._inventory.frus.assigned_keys())
        places = (map(seeds.with_fru, frus), map(seeds.with_serial, serials), map(seeds.with_fru, touched))
        return [*filter(None, chain(*places)), *self._inventory.hardware.assigned_keys()]

    def _places(self, xnames: Sequence[str] | None, types: set[str]) -> Iterable[str]:
        hardware = self._inventory.hardware
        restricted = xnames is not None
        candidates: Iterable[str] = (
            (xname for xname in dict.fromkeys(xnames or ()) if xname in hardware) if restricted else hardware
        )
        return (xname for xname in candidates if quick_kind(xname) in types) if types else candidates

    def _matching_records(
        self, xnames: Iterable[str], tests: Sequence[RecordTest], frus: Sequence[str]
    ) -> Iterable[Json]:
        hardware = self._inventory.hardware
        for xname in xnames:
            location = hardware[xname]
            if frus and location["PopulatedFRU"] not in frus:
                continue
            record = on_wire(self._inventory, location)
            if not tests or ("PopulatedFRU" in record and all(test(record["PopulatedFRU"]) for test in tests)):
                yield record

    def create(self, _: Call, body: Json) -> Reply:
        records = []
        for posted in body["Hardware"] or ():
            try:
                records.append(_posted_records(posted))
            except ValueError as error:
                return problem(400, str(error))
        if not all(_is_storable(*record) for record in records):
            return problem(500, "operation 'POST' failed during store.")
        store(self._inventory, records, self._hsm.context.clock.now())
        return message(f"Created {len(records)} entries")

    def delete(self, call: Call) -> Reply:
        if self._inventory.hardware.pop(normal(call.args["xname"]), None) is None:
            return problem(404, "no such xname.")
        return message("deleted 1 entry")

    def delete_all(self, _: Call) -> Reply:
        count = len(self._inventory.hardware)
        self._inventory.hardware.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")

    def read_fru(self, call: Call) -> Reply:
        if not storable(call.args["fruid"]):
            return problem(500, "failed to query DB.")
        record = self._inventory.frus.get(call.args["fruid"])
        return json_reply(record) if record else problem(404, "no such FRU ID.")

    def list_frus(self, call: Call) -> Reply:
        types = values(call, "type")
        if not all(spelled(TYPE, text) for text in types):
            return problem(400, "Invalid HMS type")
        allowed_types = {spelled(TYPE, text) for text in types}
        tests, names, frus = _fru_tests(call), self._frus_of(call), self._inventory.frus
        candidates = frus if names is None else [name for name in dict.fromkeys(names) if name in frus]
        records = (frus[name] for name in candidates if not allowed_types or _may_have_type(name, allowed_types))
        return records_reply(
            fru
            for fru in records
            if (not allowed_types or fru["Type"] in allowed_types) and all(test(fru) for test in tests)
        )

    def _frus_of(self, call: Call) -> list[str] | None:
        """FRU ids that include all matches; None when the query has neither ids nor serial numbers."""
        names, serials, seeds = values(call, "fruid"), values(call, "serialnumber"), self._inventory.hardware_seeds
        if names or not serials:
            return names or None
        places = filter(None, map(seeds.with_serial, serials))
        return [*(seeds.fru_at(place) for place in places), *self._inventory.frus.assigned_keys()]

    def delete_fru(self, call: Call) -> Reply:
        name = call.args["fruid"]
        if name not in self._inventory.frus:
            return problem(404, "no such FRU ID.")
        hardware, place = self._inventory.hardware, self._inventory.hardware_seeds.with_fru(name)
        candidates = [xname for xname in (place, *hardware.assigned_keys()) if xname and xname in hardware]
        if any(hardware[xname]["PopulatedFRU"] == name for xname in candidates):
            # A place refers to the FRU, so the database refuses.
            return problem(500, "failed to query DB.")
        del self._inventory.frus[name]
        return message("deleted 1 entry")

    def delete_frus(self, _: Call) -> Reply:
        count = len(self._inventory.frus)
        if len(self._inventory.hardware):
            return problem(500, "DB query failed.")
        self._inventory.frus.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def _may_have_type(name: str, types: set[str]) -> bool:
    """Whether a FRU may have one of the types: its id begins with the type, unless the FRU is named after its place."""
    return name.partition(".")[0] in types or name.startswith("FRUIDfor")


def _fru_tests(call: Call) -> list[RecordTest]:
    tests: list[RecordTest] = []
    makers = [_contains(text) for text in values(call, "manufacturer")]
    if makers:
        tests.append(lambda fru: _made_by(makers, _fru_field(fru, "Manufacturer")))
    for name, field in (("partnumber", "PartNumber"), ("serialnumber", "SerialNumber")):
        if texts := values(call, name):
            tests.append(_field_test(field, texts))
    return tests


def _made_by(makers: Sequence[re.Pattern[str]], name: str | None) -> bool:
    return name is not None and any(maker.fullmatch(name) for maker in makers)


def _field_test(field: str, texts: Sequence[str]) -> RecordTest:
    return lambda fru: _fru_field(fru, field) in texts


def _fru_field(fru: Json, field: str) -> str | None:
    value = fru[fru_key(fru["Type"])].get(field)
    return None if value is None else str(value)


def _contains(text: str) -> re.Pattern[str]:
    """SQL's ``ILIKE '%text%'``, in which ``%`` and ``_`` of the text are wildcards too."""
    return like(f"%{text}%", re.IGNORECASE)


def _posted_records(posted: Json) -> tuple[Json, Json]:
    """The place and the FRU of one entry; raises ``ValueError`` with SMD's message."""
    xname = normal(posted["ID"])
    type_ = hms_type(xname)
    if not type_:
        raise ValueError("ID is empty or not a valid xname")
    fru = posted["PopulatedFRU"]
    if fru is None:
        raise ValueError("PopulatedFRU must be populated")
    if type_ not in TYPES:
        raise ValueError("HMSType value not supported for this operation")
    place, info = posted[place_key(type_)], fru[fru_key(type_)]
    if place is None:
        raise ValueError("Component location info is empty")
    if info is None:
        raise ValueError("FRU info is empty")
    place_kind, fru_kind = TYPES[type_]
    location = {
        "ID": xname,
        "Type": type_,
        "Ordinal": _ordinal(xname),
        "Status": "Populated",
        "HWInventoryByLocationType": f"HWInvByLoc{stem(type_)}",
        place_key(type_): encode(place, place_kind),
    }
    record = {
        "FRUID": _posted_fru_id(type_, xname, fru["FRUID"], info),
        "Type": type_,
        "Subtype": fru["Subtype"],
        "HWInventoryByFRUType": f"HWInvByFRU{stem(type_)}",
        fru_key(type_): encode(info, fru_kind),
    }
    return location, record


def _ordinal(xname: str) -> int:
    match = _ORDINAL.search(xname)
    return int(match[0]) if match else 0


def _posted_fru_id(type_: str, xname: str, posted_id: str, info: Json) -> str:
    if stem(type_) == "Outlet":
        return posted_id or f"FRUIDfor{xname}"
    part = "" if type_ in WITHOUT_PART_NUMBER else info["PartNumber"]
    return fru_id(type_, xname, info.get("Manufacturer", info.get("Producer", "")), part, info["SerialNumber"])


def _is_storable(location: Json, fru: Json) -> bool:
    lengths_fit = len(location["ID"]) <= LONGEST_XNAME and len(fru["Subtype"]) <= 63 and len(fru["FRUID"]) <= 255
    return lengths_fit and location["Ordinal"] <= _MAX_INT32 and storable(fru["Subtype"], fru["FRUID"])


def routes(hsm: Hsm) -> Sequence[Route]:
    hardware = Hardware(hsm)
    one, frus = f"{BASE}/{{xname}}", f"{BASE}ByFRU"
    return (
        *hardware_history.routes(hsm),
        *hardware_query.routes(hsm),
        Route("GET", f"{frus}/{{fruid}}", hardware.read_fru),
        Route("GET", frus, hardware.list_frus),
        Route("GET", one, hardware.read),
        Route("POST", BASE, with_body(POSTED, hardware.create)),
        Route("GET", BASE, hardware.list_places),
        Route("DELETE", f"{frus}/{{fruid}}", hardware.delete_fru),
        Route("DELETE", frus, hardware.delete_frus),
        Route("DELETE", one, hardware.delete),
        Route("DELETE", BASE, hardware.delete_all),
    )
