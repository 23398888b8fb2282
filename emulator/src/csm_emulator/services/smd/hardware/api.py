"""``/Inventory/Hardware`` and ``/Inventory/HardwareByFRU``: what is where."""

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
from csm_emulator.services.smd.hardware.json_texts import HardwareTexts, listed, listed_records
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
from csm_emulator.services.smd.responses import answer, message, problem
from csm_emulator.services.smd.sql_patterns import like
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/Hardware"
_ORDINAL = re.compile("[0-9]+$")
_MOST = (1 << 31) - 1
Test = Callable[[Json], bool]


class Hardware:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._inventory: Inventory = hsm.inventory
        self._text = HardwareTexts(hsm.inventory).of

    def read(self, call: Call) -> Reply:
        if not storable(call.args["xname"]):
            return problem(500, "failed to query DB.")
        found = self._inventory.hardware.get(normal(call.args["xname"]))
        return answer(on_wire(self._inventory, found)) if found else problem(404, "no such xname.")

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
        named = [verified(xname) for xname in xnames] or self._places_of(call)
        places = self._places(named, {spelled(TYPE, text) for text in types})
        if partitions:
            member = in_partitions(self._hsm, partitions)
            places = [xname for xname in places if member(xname)]
        tests, frus = _fru_tests(call), values(call, "fruid")
        return listed_records(self._fitting(places, tests, frus)) if tests or frus else listed(map(self._text, places))

    def _places_of(self, call: Call) -> list[str] | None:
        """Where what is asked for by FRU id or serial number may be; None when it is asked for by neither."""
        frus, serials = values(call, "fruid"), values(call, "serialnumber")
        if not frus and not serials:
            return None
        found, touched = self._inventory.found, list(self._inventory.frus.touched())
        places = (map(found.with_fru, frus), map(found.with_serial, serials), map(found.with_fru, touched))
        return [*filter(None, chain(*places)), *self._inventory.hardware.touched()]

    def _places(self, xnames: Sequence[str] | None, types: set[str]) -> Iterable[str]:
        hardware = self._inventory.hardware
        named = xnames is not None
        found: Iterable[str] = (
            (xname for xname in dict.fromkeys(xnames or ()) if xname in hardware) if named else hardware
        )
        return (xname for xname in found if quick_kind(xname) in types) if types else found

    def _fitting(self, xnames: Iterable[str], tests: Sequence[Test], frus: Sequence[str]) -> Iterable[Json]:
        hardware = self._inventory.hardware
        for xname in xnames:
            location = hardware[xname]
            if frus and location["PopulatedFRU"] not in frus:
                continue
            whole = on_wire(self._inventory, location)
            if not tests or ("PopulatedFRU" in whole and all(test(whole["PopulatedFRU"]) for test in tests)):
                yield whole

    def create(self, _: Call, body: Json) -> Reply:
        records = []
        for posted in body["Hardware"] or ():
            try:
                records.append(_posted(posted))
            except ValueError as wrong:
                return problem(400, str(wrong))
        if not all(_fits(*record) for record in records):
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
        found = self._inventory.frus.get(call.args["fruid"])
        return answer(found) if found else problem(404, "no such FRU ID.")

    def list_frus(self, call: Call) -> Reply:
        types = values(call, "type")
        if not all(spelled(TYPE, text) for text in types):
            return problem(400, "Invalid HMS type")
        wanted = {spelled(TYPE, text) for text in types}
        tests, names, frus = _fru_tests(call), self._frus_of(call), self._inventory.frus
        chosen = frus if names is None else [name for name in dict.fromkeys(names) if name in frus]
        found = (frus[name] for name in chosen if not wanted or _maybe_of(name, wanted))
        return listed_records(
            fru for fru in found if (not wanted or fru["Type"] in wanted) and all(test(fru) for test in tests)
        )

    def _frus_of(self, call: Call) -> list[str] | None:
        """Ids among which those asked for are; None when neither ids nor serial numbers are asked for."""
        names, serials, found = values(call, "fruid"), values(call, "serialnumber"), self._inventory.found
        if names or not serials:
            return names or None
        places = filter(None, map(found.with_serial, serials))
        return [*(found.fru_at(place) for place in places), *self._inventory.frus.touched()]

    def delete_fru(self, call: Call) -> Reply:
        name = call.args["fruid"]
        if name not in self._inventory.frus:
            return problem(404, "no such FRU ID.")
        hardware, place = self._inventory.hardware, self._inventory.found.with_fru(name)
        candidates = [xname for xname in (place, *hardware.touched()) if xname and xname in hardware]
        if any(hardware[xname]["PopulatedFRU"] == name for xname in candidates):
            # The place refers to it, and the database refuses.
            return problem(500, "failed to query DB.")
        del self._inventory.frus[name]
        return message("deleted 1 entry")

    def delete_frus(self, _: Call) -> Reply:
        count = len(self._inventory.frus)
        if len(self._inventory.hardware):
            return problem(500, "DB query failed.")
        self._inventory.frus.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def _maybe_of(name: str, types: set[str]) -> bool:
    """Whether a FRU id may be of one of the types: it begins with it, unless it is named after its place."""
    return name.partition(".")[0] in types or name.startswith("FRUIDfor")


def _fru_tests(call: Call) -> list[Test]:
    tests: list[Test] = []
    makers = [_like(text) for text in values(call, "manufacturer")]
    if makers:
        tests.append(lambda fru: _made_by(makers, _fact(fru, "Manufacturer")))
    for name, field in (("partnumber", "PartNumber"), ("serialnumber", "SerialNumber")):
        if wanted := values(call, name):
            tests.append(_among(field, wanted))
    return tests


def _made_by(makers: Sequence[re.Pattern[str]], name: str | None) -> bool:
    return name is not None and any(maker.fullmatch(name) for maker in makers)


def _among(field: str, wanted: Sequence[str]) -> Test:
    return lambda fru: _fact(fru, field) in wanted


def _fact(fru: Json, field: str) -> str | None:
    found = fru[fru_key(fru["Type"])].get(field)
    return None if found is None else str(found)


def _like(text: str) -> re.Pattern[str]:
    """SQL's ``ILIKE '%text%'``, in which ``%`` and ``_`` of the text mean what they mean there."""
    return like(f"%{text}%", re.IGNORECASE)


def _posted(posted: Json) -> tuple[Json, Json]:
    """The place and the FRU of one entry; raises ``ValueError`` in SMD's words."""
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
    found = _ORDINAL.search(xname)
    return int(found[0]) if found else 0


def _posted_fru_id(type_: str, xname: str, given: str, info: Json) -> str:
    if stem(type_) == "Outlet":
        return given or f"FRUIDfor{xname}"
    part = "" if type_ in WITHOUT_PART_NUMBER else info["PartNumber"]
    return fru_id(type_, xname, info.get("Manufacturer", info.get("Producer", "")), part, info["SerialNumber"])


def _fits(location: Json, fru: Json) -> bool:
    short = len(location["ID"]) <= LONGEST_XNAME and len(fru["Subtype"]) <= 63 and len(fru["FRUID"]) <= 255
    return short and location["Ordinal"] <= _MOST and storable(fru["Subtype"], fru["FRUID"])


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
