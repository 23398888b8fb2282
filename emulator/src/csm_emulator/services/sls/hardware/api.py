"""``/hardware`` and ``/search/hardware``."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANY, STRING, struct
from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import encoded, marshalled
from csm_emulator.services.sls.hardware.table import HardwareTable, InvalidHardware, record_without_times
from csm_emulator.services.sls.names import (
    CLASSES,
    COMPTYPES,
    KNOWN_COMPTYPES,
    NOT_HARDWARE,
    UNSTORABLE_COMPTYPES,
    parent,
)
from csm_emulator.services.sls.postgres_jsonb import matches, search_texts
from csm_emulator.services.sls.responses import problem, short_problem, success
from csm_emulator.transport.call import Call, Reply

_POST = struct("main.postHardwareRequest", {"Xname": STRING, "Class": STRING, "ExtraProperties": ANY})
_PUT = struct("main.putHardwareRequest", {"Class": STRING, "ExtraProperties": ANY})
_NO_FIELD = (
    "ExtraProperties search did not include the field name. The ExtraProperties query should be of the form: "
    "extra_properties.{fieldname}={value}"
)
_LIST_PROPERTIES = {"node_nics": "NodeNics", "networks": "Networks", "peers": "Peers"}
_TEXT_PROPERTIES = {"power_connector": "PoweredBy", "object": "Object"}
_PREFIX = "extra_properties."

SearchProperties = dict[str, str | list[str]]


class Hardware:
    def __init__(self, table: HardwareTable) -> None:
        self._table = table

    def list_all(self, _: Call) -> Reply:
        return marshalled([self._table.record(xname) for xname in self._table] or None)

    def post(self, call: Call) -> Reply:
        try:
            body = decode(call.body, _POST)
        except DecodeError:
            return short_problem(400, "error decoding JSON")
        xname, hardware_class = body["Xname"], body["Class"]
        if error := _xname_problem(xname) or _class_problem(hardware_class):
            return error
        name = normal(xname)
        if name in self._table:
            return short_problem(409, "object already exists")
        try:
            self._table.put(name, hardware_class, body["ExtraProperties"])
        except InvalidHardware:
            return short_problem(500, "error inserting object into DB")
        return success("inserted new entry", 201)

    def get(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return short_problem(400, "invalid xname")
        if xname not in self._table:
            return short_problem(404, "no such component not in DB")
        return encoded(self._table.record(xname))

    def put(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return short_problem(400, "invalid xname")
        try:
            body = decode(call.body, _PUT)
        except DecodeError:
            return short_problem(400, "unable to unmarshal JSON payload")
        hardware_class, properties = body["Class"], body["ExtraProperties"]
        if not hardware_class:
            return short_problem(400, "missing fields Class ")
        if not _is_class(hardware_class):
            return short_problem(400, "invalid component class")
        try:
            created = self._table.put(xname, hardware_class, properties)
        except InvalidHardware:
            return short_problem(500, "DB update failed")
        return encoded(record_without_times(xname, hardware_class, properties), 201 if created else 200)

    def delete(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return short_problem(400, "invalid xname")
        if xname not in self._table:
            return short_problem(404, "no such component not in DB")
        self._table.delete(xname)
        return success("deleted entry and its descendants")

    def search(self, call: Call) -> Reply:
        properties = _search_properties(call)
        if properties is None:
            return problem(call, 400, _NO_FIELD)
        conditions = {name: call.first(name) for name in ("xname", "parent", "type", "class")}
        if error := _condition_error(conditions):
            return problem(call, 400, error)
        if not any(conditions.values()) and not properties:
            return problem(call, 400, "no conditions/properties with which to search")
        if any("\0" in text for text in search_texts(properties)):
            return problem(call, 500, "Failed to search hardware in DB")
        return marshalled([self._table.record(xname) for xname in self._matching(conditions, properties)] or None)

    def _matching(self, conditions: dict[str, str], properties: SearchProperties) -> list[str]:
        if conditions["xname"]:
            candidates = [conditions["xname"]] if conditions["xname"] in self._table else []
        elif conditions["parent"]:
            candidates = self._table.children(conditions["parent"])
        else:
            indexed = self._table.candidates(properties)
            candidates = list(self._table) if indexed is None else indexed
        return [xname for xname in candidates if self._matches(xname, conditions, properties)]

    def _matches(self, xname: str, conditions: dict[str, str], properties: SearchProperties) -> bool:
        row = self._table.row(xname)
        return (
            (not conditions["class"] or row["Class"] == conditions["class"])
            and (not conditions["type"] or _comptype(xname) == conditions["type"])
            and (not conditions["parent"] or parent(xname) == conditions["parent"])
            and matches(row.get("ExtraProperties"), properties)
        )


def _comptype(xname: str) -> str:
    return COMPTYPES.get(hms_type(xname), "")


def _xname_problem(xname: str) -> Reply | None:
    if not xname:
        return short_problem(400, "missing required Xname field")
    if not hms_type(xname):
        return short_problem(400, "invalid Xname field")
    return None if parent(xname) else short_problem(500, "Could not determine Parent for xname")


def _class_problem(hardware_class: str) -> Reply | None:
    if not hardware_class:
        return short_problem(400, "missing required Class field")
    return None if _is_class(hardware_class) else short_problem(400, "invalid Class field")


def _is_class(text: str) -> bool:
    """Whether it is a class in any letter case; the check before storing requires the exact spelling."""
    return text.lower() in {name.lower() for name in CLASSES}


def _search_properties(call: Call) -> SearchProperties | None:
    """The properties to search for; None when ``extra_properties`` names no field."""
    properties: SearchProperties = {
        field: call.first(name) for name, field in _TEXT_PROPERTIES.items() if call.first(name)
    }
    properties |= {field: [call.first(name)] for name, field in _LIST_PROPERTIES.items() if call.first(name)}
    for name in dict.fromkeys(key for key, _ in call.query):
        if name in ("extra_properties", _PREFIX):
            return None
        if name.startswith(_PREFIX):
            values = call.all(name)
            properties[name.removeprefix(_PREFIX)] = values[0] if len(values) == 1 else values
    return properties


def _condition_error(conditions: dict[str, str]) -> str:
    parent_error = _name_error(conditions["parent"])
    return (
        _name_error(conditions["xname"])
        or (parent_error and f"invalid parent: {parent_error}")
        or _type_error(conditions["type"])
        or ("class is invalid" if conditions["class"] not in ("", *CLASSES) else "")
    )


def _name_error(xname: str) -> str:
    kind = hms_type(xname)
    if xname and not kind:
        return "xname is invalid"
    return "xname type is invalid" if kind in NOT_HARDWARE else ""


def _type_error(comptype: str) -> str:
    if comptype in UNSTORABLE_COMPTYPES:
        return "type can not be stored in SLS"
    return "type is unknown" if comptype and comptype not in KNOWN_COMPTYPES else ""
