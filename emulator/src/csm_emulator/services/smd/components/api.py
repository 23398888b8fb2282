"""Components: reading, creating, replacing, deleting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import BOOL, NUMBER, STRING, pointer_to, slice_of, struct
from csm_emulator.dialects.hms.names import NODES, hms_type, normal, verified
from csm_emulator.records import Json, Record
from csm_emulator.services.smd import enums as vocabulary
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.components.lists import listed, only_in_query, unreadable
from csm_emulator.services.smd.components.queries import whole
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, answering, fits, refused
from csm_emulator.services.smd.responses import message, nothing, problem, written
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
_WORDS: Sequence[tuple[str, str, Mapping[str, str]]] = (
    ("Role", "role", vocabulary.ROLE),
    ("SubRole", "subRole", vocabulary.SUB_ROLE),
    ("NetType", "netType", vocabulary.NET_TYPE),
    ("Arch", "arch", vocabulary.ARCH),
    ("Class", "class", vocabulary.CLASS),
)
_REPLACED = ("State", "Flag", "Subtype", "NetType", "Arch", "Class")
"""What force writes over."""
_PLACES = re.compile(r"x([0-9]+)c([0-9]+)s([0-9]+)b([0-9]+)n([0-9]+)(?:v([0-9]+))?")


def routes(hsm: Hsm) -> Sequence[Route]:
    return (
        Route("GET", f"{BASE}/{{xname}}", partial(_get, hsm)),
        Route("PUT", f"{BASE}/{{xname}}", answering(partial(_put, hsm))),
        Route("DELETE", f"{BASE}/{{xname}}", partial(_delete, hsm)),
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("POST", BASE, answering(partial(_post, hsm))),
        Route("DELETE", BASE, partial(_delete_all, hsm)),
    )


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = normal(call.args["xname"])
    if "\0" in xname:
        return refused(DatabaseError())
    if not hsm.known(xname):
        return problem(404, "no such xname.")
    return written(hsm.components.text(xname))


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    try:
        found = filters.select(hsm, filters.in_query(call))
    except (Refusal, DatabaseError) as error:
        return refused(error, "bad query param: ")
    return listed(hsm, found, only_in_query(call))


def _delete(hsm: Hsm, call: Call) -> Reply:
    xname = verified(call.args["xname"])
    if not xname:
        return problem(400, "invalid xname")
    if not hsm.known(xname):
        return problem(404, "no such xname.")
    hsm.remove_component(xname)
    return message("deleted 1 entry")


def _delete_all(hsm: Hsm, _: Call) -> Reply:
    count = hsm.remove_all_components()
    return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def _post(hsm: Hsm, call: Call) -> Reply:
    body = decode(call.body, POST)
    given = body["Components"] or []
    if not given or not (given[0] and given[0]["ID"]):
        return problem(400, "Missing Components")
    try:
        _upsert(hsm, [_checked(component) for component in given if component], force=body["force"])
    except Misspelled as error:
        return problem(400, f"couldn't validate components: {error}")
    except DatabaseError as error:
        return refused(error)
    return nothing()


def _put(hsm: Hsm, call: Call) -> Reply:
    xname = normal(call.args["xname"])
    body = decode(call.body, PUT)
    component = body["component"]
    if component["ID"] and normal(component["ID"]) != xname:
        return problem(400, "ID in URL and POST body do not match")
    try:
        _upsert(hsm, [_checked({**component, "ID": xname})], force=body["force"])
    except Misspelled as error:
        return problem(400, f"couldn't validate component: {error}")
    except DatabaseError as error:
        return refused(error)
    return nothing()


class Misspelled(Exception):
    """A field holds no word that HMS knows."""


def _checked(given: Json) -> Record:
    """Every word as HMS spells it."""
    component = {
        **given,
        "ID": _said("xname ID", given["ID"], verified(given["ID"])),
        "State": _said("state", given["State"], vocabulary.spelled(vocabulary.STATE, given["State"])),
        "Flag": _said("flag", given["Flag"], vocabulary.spelled(vocabulary.FLAG, given["Flag"] or "OK")),
    }
    for field, called, table in _WORDS:
        if given[field]:
            component[field] = _said(called, given[field], vocabulary.spelled(table, given[field]))
    component["Type"] = hms_type(component["ID"])
    fits((component["ID"], 63), (component["SoftwareStatus"], 32), (component["Subtype"], 64))
    return component


def _said(called: str, text: str, spelled: str) -> str:
    if not spelled:
        raise Misspelled(f"{called} '{text}' is invalid")
    return spelled


def _upsert(hsm: Hsm, given: Sequence[Record], *, force: bool) -> None:
    """All or none. Of those that are there already, nothing changes but what force writes over."""
    news: dict[str, Record] = {}
    changes: list[tuple[str, Record]] = []
    for component in given:
        xname = component["ID"]
        if xname in news:
            continue
        old = hsm.components.get(xname)
        if old is None:
            news[xname] = _with_defaults(hsm, component)
            changes += ((xname, change) for change in _first_changes(news[xname]))
        elif force and _changed(old, component):
            news[xname] = {**old, **{field: component[field] for field in _REPLACED}}
            if old["State"] != component["State"]:
                changes.append((xname, {"State": component["State"]}))
    for record in news.values():
        hsm.put_component(record)
    _tell(hsm, changes)


def _changed(old: Record, new: Record) -> bool:
    """An empty field is no change by itself, but is written over with the others."""
    return any(new[field] and new[field] != old.get(field, "") for field in _REPLACED)


def _first_changes(record: Record) -> list[Record]:
    changes = [{"State": record["State"]}, {"Enabled": record["Enabled"]}]
    if record["SoftwareStatus"]:
        changes.append({"SoftwareStatus": record["SoftwareStatus"]})
    return [*changes, {"Role": record["Role"], "SubRole": record["SubRole"]}]


def _tell(hsm: Hsm, changes: Sequence[tuple[str, Record]]) -> None:
    """One notification for all that changed alike."""
    alike: dict[tuple[tuple[str, Json], ...], list[str]] = {}
    for xname, change in changes:
        alike.setdefault(tuple(change.items()), []).append(xname)
    for fields, xnames in alike.items():
        hsm.notify(xnames, dict(fields))


def _with_defaults(hsm: Hsm, component: Record) -> Record:
    record = {**component, "Enabled": component["Enabled"] is not False}
    if record["Type"] in NODES and not (record["Role"] and record["NID"] is not None and record["Class"]):
        site = _site_defaults(hsm, record["ID"])
        record = {**record, **{field: site[field] for field in site if record[field] in ("", None)}}
    nid = whole(record["NID"])
    return {**record, "NID": -1 if nid is None else nid}


def _site_defaults(hsm: Hsm, xname: str) -> Record:
    """From SLS, else from the NodeMaps, else made up from the xname."""
    reply = hsm.context.mesh.ask("sls", "GET", f"/v1/hardware/{xname}")
    known = reply.json() if reply.status == 200 else {}
    extra = known.get("ExtraProperties") or {}
    node_map = hsm.node_maps.get(xname, {})
    by_role = extra if extra.get("Role") else node_map
    return {
        "NID": extra.get("NID") or node_map.get("NID") or made_up_nid(xname),
        "Role": by_role.get("Role") or "Compute",
        "SubRole": by_role.get("SubRole", "") if by_role.get("Role") else "",
        "Class": known.get("Class", ""),
    }


def made_up_nid(xname: str) -> int:
    """As SMD makes one for a node that nobody gave a NID. (components.go)"""
    found = _PLACES.fullmatch(xname)
    cabinet, chassis, slot, controller, node = map(int, found.groups()[:5]) if found else (0, 0, 0, 0, 0)
    if found and found[6]:
        node = int(found[6])
    return (cabinet + 1) * 16384 + chassis * 2048 + slot * 32 + controller * 4 + node
