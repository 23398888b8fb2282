"""Components: reading, creating, replacing, deleting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import BOOL, NUMBER, STRING, pointer_to, slice_of, struct
from csm_emulator.dialects.hms.names import NODES, hms_type, normal, verified
from csm_emulator.records import Json, Record
from csm_emulator.services.smd import enums
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.components.lists import components_reply, only_in_query, query_is_undecodable
from csm_emulator.services.smd.components.queries import int64
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, check_widths, error_reply, with_error_replies
from csm_emulator.services.smd.responses import json_text_reply, message, no_content, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/State/Components"
COMPONENT = struct(
    "base.Component",
    {
        "ID": STRING,
        "Type": STRING,
        "State": STRING,
        "Flag": STRING,
        "Enabled": pointer_to(BOOL),
        "SoftwareStatus": STRING,
        "Role": STRING,
        "SubRole": STRING,
        "NID": NUMBER,
        "Subtype": STRING,
        "NetType": STRING,
        "Arch": STRING,
        "Class": STRING,
        "ReservationDisabled": BOOL,
        "Locked": BOOL,
    },
)
POST = struct(
    "sm.ComponentsPost",
    {"Components": slice_of(pointer_to(COMPONENT)), "force": BOOL},
    {"Components": "ComponentArray"},
)
PUT = struct("sm.ComponentPut", {"component": COMPONENT, "force": BOOL})
_ENUM_FIELDS: Sequence[tuple[str, str, Mapping[str, str]]] = (
    ("Role", "role", enums.ROLE),
    ("SubRole", "subRole", enums.SUB_ROLE),
    ("NetType", "netType", enums.NET_TYPE),
    ("Arch", "arch", enums.ARCH),
    ("Class", "class", enums.CLASS),
)
_OVERWRITTEN_BY_FORCE = ("State", "Flag", "Subtype", "NetType", "Arch", "Class")
"""The fields that ``force`` overwrites."""
_NODE_XNAME = re.compile(r"x([0-9]+)c([0-9]+)s([0-9]+)b([0-9]+)n([0-9]+)(?:v([0-9]+))?")


def routes(hsm: Hsm) -> Sequence[Route]:
    return (
        Route("GET", f"{BASE}/{{xname}}", partial(_get, hsm)),
        Route("PUT", f"{BASE}/{{xname}}", with_error_replies(partial(_put, hsm))),
        Route("DELETE", f"{BASE}/{{xname}}", partial(_delete, hsm)),
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("POST", BASE, with_error_replies(partial(_post, hsm))),
        Route("DELETE", BASE, partial(_delete_all, hsm)),
    )


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = normal(call.args["xname"])
    if "\0" in xname:
        return error_reply(DatabaseError())
    if not hsm.has_component(xname):
        return problem(404, "no such xname.")
    return json_text_reply(hsm.components.text(xname))


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    try:
        xnames = filters.select(hsm, filters.in_query(call))
    except (HmsError, DatabaseError) as error:
        return error_reply(error, "bad query param: ")
    return components_reply(hsm, xnames, only_in_query(call))


def _delete(hsm: Hsm, call: Call) -> Reply:
    xname = verified(call.args["xname"])
    if not xname:
        return problem(400, "invalid xname")
    if not hsm.has_component(xname):
        return problem(404, "no such xname.")
    hsm.remove_component(xname)
    return message("deleted 1 entry")


def _delete_all(hsm: Hsm, _: Call) -> Reply:
    count = hsm.remove_all_components()
    return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def _post(hsm: Hsm, call: Call) -> Reply:
    body = decode(call.body, POST)
    posted = body["Components"] or []
    if not posted or not (posted[0] and posted[0]["ID"]):
        return problem(400, "Missing Components")
    try:
        _upsert(hsm, [_validated(component) for component in posted if component], force=body["force"])
    except InvalidField as error:
        return problem(400, f"couldn't validate components: {error}")
    except DatabaseError as error:
        return error_reply(error)
    return no_content()


def _put(hsm: Hsm, call: Call) -> Reply:
    xname = normal(call.args["xname"])
    body = decode(call.body, PUT)
    component = body["component"]
    if component["ID"] and normal(component["ID"]) != xname:
        return problem(400, "ID in URL and POST body do not match")
    try:
        _upsert(hsm, [_validated({**component, "ID": xname})], force=body["force"])
    except InvalidField as error:
        return problem(400, f"couldn't validate component: {error}")
    except DatabaseError as error:
        return error_reply(error)
    return no_content()


class InvalidField(Exception):
    """A field holds no word of HMS's enumeration."""


def _validated(posted: Json) -> Record:
    """The component with every enumeration in HMS's spelling; raises ``InvalidField`` or ``DatabaseError``."""
    component = {
        **posted,
        "ID": _valid_word("xname ID", posted["ID"], verified(posted["ID"])),
        "State": _valid_word("state", posted["State"], enums.spelled(enums.STATE, posted["State"])),
        "Flag": _valid_word("flag", posted["Flag"], enums.spelled(enums.FLAG, posted["Flag"] or "OK")),
    }
    for field, label, table in _ENUM_FIELDS:
        if posted[field]:
            component[field] = _valid_word(label, posted[field], enums.spelled(table, posted[field]))
    component["Type"] = hms_type(component["ID"])
    check_widths((component["ID"], 63), (component["SoftwareStatus"], 32), (component["Subtype"], 64))
    return component


def _valid_word(label: str, text: str, spelled: str) -> str:
    if not spelled:
        raise InvalidField(f"{label} '{text}' is invalid")
    return spelled


def _upsert(hsm: Hsm, components: Sequence[Record], *, force: bool) -> None:
    """Store all or none. Existing components change only with ``force``, and only in the fields that it overwrites."""
    new_records: dict[str, Record] = {}
    changes: list[tuple[str, Record]] = []
    for component in components:
        xname = component["ID"]
        if xname in new_records:
            continue
        old = hsm.components.get(xname)
        if old is None:
            new_records[xname] = _with_defaults(hsm, component)
            changes += ((xname, change) for change in _first_changes(new_records[xname]))
        elif force and _changed(old, component):
            new_records[xname] = {**old, **{field: component[field] for field in _OVERWRITTEN_BY_FORCE}}
            if old["State"] != component["State"]:
                changes.append((xname, {"State": component["State"]}))
    for record in new_records.values():
        hsm.put_component(record)
    _notify(hsm, changes)


def _changed(old: Record, new: Record) -> bool:
    """Whether a field differs. An empty field alone is no change, but it is overwritten with the others."""
    return any(new[field] and new[field] != old.get(field, "") for field in _OVERWRITTEN_BY_FORCE)


def _first_changes(record: Record) -> list[Record]:
    changes = [{"State": record["State"]}, {"Enabled": record["Enabled"]}]
    if record["SoftwareStatus"]:
        changes.append({"SoftwareStatus": record["SoftwareStatus"]})
    return [*changes, {"Role": record["Role"], "SubRole": record["SubRole"]}]


def _notify(hsm: Hsm, changes: Sequence[tuple[str, Record]]) -> None:
    """One notification for all components with the same change."""
    xnames_by_change: dict[tuple[tuple[str, Json], ...], list[str]] = {}
    for xname, change in changes:
        xnames_by_change.setdefault(tuple(change.items()), []).append(xname)
    for fields, xnames in xnames_by_change.items():
        hsm.notify(xnames, dict(fields))


def _with_defaults(hsm: Hsm, component: Record) -> Record:
    record = {**component, "Enabled": component["Enabled"] is not False}
    if record["Type"] in NODES and not (record["Role"] and record["NID"] is not None and record["Class"]):
        site = _site_defaults(hsm, record["ID"])
        record = {**record, **{field: site[field] for field in site if record[field] in ("", None)}}
    nid = int64(record["NID"])
    return {**record, "NID": -1 if nid is None else nid}


def _site_defaults(hsm: Hsm, xname: str) -> Record:
    """NID, role and class from SLS, else from the NodeMaps, else derived from the xname."""
    reply = hsm.context.mesh.ask("sls", "GET", f"/v1/hardware/{xname}")
    hardware = reply.json() if reply.status == 200 else {}
    properties = hardware.get("ExtraProperties") or {}
    node_map = hsm.node_maps.get(xname, {})
    by_role = properties if properties.get("Role") else node_map
    return {
        "NID": properties.get("NID") or node_map.get("NID") or nid_from_xname(xname),
        "Role": by_role.get("Role") or "Compute",
        "SubRole": by_role.get("SubRole", "") if by_role.get("Role") else "",
        "Class": hardware.get("Class", ""),
    }


def nid_from_xname(xname: str) -> int:
    """The NID that SMD gives to a node that has none in SLS or the NodeMaps. (components.go)"""
    match = _NODE_XNAME.fullmatch(xname)
    cabinet, chassis, slot, controller, node = map(int, match.groups()[:5]) if match else (0, 0, 0, 0, 0)
    if match and match[6]:
        node = int(match[6])
    return (cabinet + 1) * 16384 + chassis * 2048 + slot * 32 + controller * 4 + node
