"""``/hardware`` and ``/search/hardware``."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANY, STRING, struct
from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import encoded, marshalled
from csm_emulator.services.sls.hardware.table import HardwareTable, Refused, described
from csm_emulator.services.sls.names import (
    CLASSES,
    COMPTYPES,
    KNOWN_COMPTYPES,
    NOT_HARDWARE,
    UNSTORABLE_COMPTYPES,
    parent,
)
from csm_emulator.services.sls.postgres_jsonb import matches, texts
from csm_emulator.services.sls.responses import done, problem, refusal
from csm_emulator.transport.call import Call, Reply

_POST = struct("main.postHardwareRequest", {"Xname": STRING, "Class": STRING, "ExtraProperties": ANY})
_PUT = struct("main.putHardwareRequest", {"Class": STRING, "ExtraProperties": ANY})
_NO_FIELD = (
    "ExtraProperties search did not include the field name. The ExtraProperties query should be of the form: "
    "extra_properties.{fieldname}={value}"
)
_LISTED = {"node_nics": "NodeNics", "networks": "Networks", "peers": "Peers"}
_PLAIN = {"power_connector": "PoweredBy", "object": "Object"}
_PREFIX = "extra_properties."

Wanted = dict[str, str | list[str]]


class Hardware:
    def __init__(self, table: HardwareTable) -> None:
        self._table = table

    def everything(self, _: Call) -> Reply:
        return marshalled([self._table.shown(xname) for xname in self._table] or None)

    def post(self, call: Call) -> Reply:
        try:
            asked = decode(call.body, _POST)
        except DecodeError:
            return refusal(400, "error decoding JSON")
        xname, hardware_class = asked["Xname"], asked["Class"]
        if refused := _refuse_name(xname) or _refuse_class(hardware_class):
            return refused
        name = normal(xname)
        if name in self._table:
            return refusal(409, "object already exists")
        try:
            self._table.put(name, hardware_class, asked["ExtraProperties"])
        except Refused:
            return refusal(500, "error inserting object into DB")
        return done("inserted new entry", 201)

    def get(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return refusal(400, "invalid xname")
        if xname not in self._table:
            return refusal(404, "no such component not in DB")
        return encoded(self._table.shown(xname))

    def put(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return refusal(400, "invalid xname")
        try:
            asked = decode(call.body, _PUT)
        except DecodeError:
            return refusal(400, "unable to unmarshal JSON payload")
        hardware_class, properties = asked["Class"], asked["ExtraProperties"]
        if not hardware_class:
            return refusal(400, "missing fields Class ")
        if not _is_class(hardware_class):
            return refusal(400, "invalid component class")
        try:
            created = self._table.put(xname, hardware_class, properties)
        except Refused:
            return refusal(500, "DB update failed")
        return encoded(described(xname, hardware_class, properties), 201 if created else 200)

    def delete(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return refusal(400, "invalid xname")
        if xname not in self._table:
            return refusal(404, "no such component not in DB")
        self._table.delete(xname)
        return done("deleted entry and its descendants")

    def search(self, call: Call) -> Reply:
        properties = _wanted_properties(call)
        if properties is None:
            return problem(call, 400, _NO_FIELD)
        asked = {name: call.first(name) for name in ("xname", "parent", "type", "class")}
        if wrong := _wrong_condition(asked):
            return problem(call, 400, wrong)
        if not any(asked.values()) and not properties:
            return problem(call, 400, "no conditions/properties with which to search")
        if any("\0" in text for text in texts(properties)):
            return problem(call, 500, "Failed to search hardware in DB")
        return marshalled([self._table.shown(xname) for xname in self._found(asked, properties)] or None)

    def _found(self, asked: dict[str, str], properties: Wanted) -> list[str]:
        if asked["xname"]:
            near = [asked["xname"]] if asked["xname"] in self._table else []
        elif asked["parent"]:
            near = self._table.children(asked["parent"])
        else:
            candidates = self._table.candidates(properties)
            near = list(self._table) if candidates is None else candidates
        return [xname for xname in near if self._fits(xname, asked, properties)]

    def _fits(self, xname: str, asked: dict[str, str], properties: Wanted) -> bool:
        row = self._table.row(xname)
        return (
            (not asked["class"] or row["Class"] == asked["class"])
            and (not asked["type"] or _comptype(xname) == asked["type"])
            and (not asked["parent"] or parent(xname) == asked["parent"])
            and matches(row.get("ExtraProperties"), properties)
        )


def _comptype(xname: str) -> str:
    return COMPTYPES.get(hms_type(xname), "")


def _refuse_name(xname: str) -> Reply | None:
    if not xname:
        return refusal(400, "missing required Xname field")
    if not hms_type(xname):
        return refusal(400, "invalid Xname field")
    return None if parent(xname) else refusal(500, "Could not determine Parent for xname")


def _refuse_class(hardware_class: str) -> Reply | None:
    if not hardware_class:
        return refusal(400, "missing required Class field")
    return None if _is_class(hardware_class) else refusal(400, "invalid Class field")


def _is_class(text: str) -> bool:
    """Here in any case; only the check before storing wants the right one."""
    return text.lower() in {each.lower() for each in CLASSES}


def _wanted_properties(call: Call) -> Wanted | None:
    """None when a query names no field."""
    wanted: Wanted = {field: call.first(name) for name, field in _PLAIN.items() if call.first(name)}
    wanted |= {field: [call.first(name)] for name, field in _LISTED.items() if call.first(name)}
    for name in dict.fromkeys(key for key, _ in call.query):
        if name in ("extra_properties", _PREFIX):
            return None
        if name.startswith(_PREFIX):
            values = call.all(name)
            wanted[name.removeprefix(_PREFIX)] = values[0] if len(values) == 1 else values
    return wanted


def _wrong_condition(asked: dict[str, str]) -> str:
    wrong_parent = _wrong_name(asked["parent"])
    return (
        _wrong_name(asked["xname"])
        or (wrong_parent and f"invalid parent: {wrong_parent}")
        or _wrong_type(asked["type"])
        or ("class is invalid" if asked["class"] not in ("", *CLASSES) else "")
    )


def _wrong_name(xname: str) -> str:
    kind = hms_type(xname)
    if xname and not kind:
        return "xname is invalid"
    return "xname type is invalid" if kind in NOT_HARDWARE else ""


def _wrong_type(comptype: str) -> str:
    if comptype in UNSTORABLE_COMPTYPES:
        return "type can not be stored in SLS"
    return "type is unknown" if comptype and comptype not in KNOWN_COMPTYPES else ""
