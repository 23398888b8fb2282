"""NodeMaps: the NID and the role that discovery gives to a node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode, mentions
from csm_emulator.dialects.go_json.types import INT, RAW, STRING, pointer_to, slice_of, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Json
from csm_emulator.services.smd import enums
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, check_widths, error_reply, with_error_replies
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Defaults/NodeMaps"
_FIELDS = {"ID": STRING, "NID": INT, "Role": STRING, "SubRole": STRING, "NodeInfo": RAW}
ONE = struct("sm.NodeMap", _FIELDS)
POSTED = struct(
    "main.scanableNodeMap", {**_FIELDS, "NodeMaps": pointer_to(slice_of(ONE))}, dict.fromkeys(_FIELDS, "NodeMap")
)


class _InvalidNodeMap(Exception):
    """The NodeMap has an invalid field."""


class _DuplicateNid(Exception):
    """The NodeMap of another node has this NID."""


def routes(hsm: Hsm) -> Sequence[Route]:
    one = f"{BASE}/{{xname}}"
    return (
        Route("GET", one, partial(_get, hsm)),
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("DELETE", one, partial(_delete, hsm)),
        Route("PUT", one, with_error_replies(partial(_put, hsm))),
        Route("POST", BASE, with_error_replies(partial(_post, hsm))),
        Route("DELETE", BASE, partial(_delete_all, hsm)),
    )


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = hms_names.normal(call.args["xname"])
    if "\0" in xname:
        return error_reply(DatabaseError())
    return json_reply(hsm.node_maps[xname]) if xname in hsm.node_maps else problem(404, "no such xname.")


def _get_all(hsm: Hsm, _: Call) -> Reply:
    return json_reply({"NodeMaps": list(hsm.node_maps.values())})


def _post(hsm: Hsm, call: Call) -> Reply:
    body = decode(call.body, POSTED)
    single = mentions(call.body, ONE)
    position = ""
    node_maps = []
    try:
        for index, posted in enumerate([body] if single else body["NodeMaps"] or ()):
            position = "mapping data" if single else f"map data at idx {index}"
            node_maps.append(_validated(posted))
        _store(hsm, node_maps)
    except _InvalidNodeMap as error:
        return problem(400, f"couldn't validate {position}: {error}")
    except _DuplicateNid:
        return problem(409, "operation would conflict with an existing xname ID that has the same NID.")
    except DatabaseError:
        return problem(500, "operation 'POST' failed during store. ")
    return message(f"Created or modified {len(node_maps)} entries")


def _put(hsm: Hsm, call: Call) -> Reply:
    xname = hms_names.normal(call.args["xname"])
    body = decode(call.body, ONE)
    if body["ID"] and hms_names.normal(body["ID"]) != xname:
        return problem(400, "xname in URL and PUT body do not match")
    try:
        node_map = _validated({**body, "ID": body["ID"] or xname})
        _store(hsm, [node_map])
    except _InvalidNodeMap as error:
        return problem(400, f"couldn't validate endpoint data: {error}")
    except _DuplicateNid:
        return problem(409, "operation would conflict with an existing resource that has the same NID")
    except DatabaseError:
        return problem(500, "operation 'PUT' failed during store")
    return json_reply(node_map)


def _validated(posted: Json) -> Json:
    xname = hms_names.normal(posted["ID"])
    if hms_names.hms_type(xname) not in hms_names.NODES:
        raise _InvalidNodeMap(f"xname ID '{posted['ID']}' is invalid or not a node")
    if posted["NID"] <= 0:
        raise _InvalidNodeMap(f"NID '{posted['NID']}' is out of range")
    node_map = {"ID": xname, "NID": posted["NID"]}
    for field, table in (("Role", enums.ROLE), ("SubRole", enums.SUB_ROLE)):
        word = enums.spelled(table, posted[field])
        if posted[field] and not word:
            raise _InvalidNodeMap(f"{field} '{posted[field]}' is not valid.")
        node_map |= {field: word} if word else {}
    return node_map if posted["NodeInfo"] is None else {**node_map, "NodeInfo": posted["NodeInfo"]}


def _store(hsm: Hsm, node_maps: Sequence[Json]) -> None:
    """Store all or none; raises ``_DuplicateNid`` or ``DatabaseError``."""
    owners = {record["NID"]: xname for xname, record in hsm.node_maps.items()}
    for node_map in node_maps:
        check_widths((node_map["ID"], 63))
        if owners.get(node_map["NID"], node_map["ID"]) != node_map["ID"]:
            raise _DuplicateNid
        owners = {nid: xname for nid, xname in owners.items() if xname != node_map["ID"]} | {
            node_map["NID"]: node_map["ID"]
        }
    for node_map in node_maps:
        hsm.node_maps[node_map["ID"]] = node_map


def _delete(hsm: Hsm, call: Call) -> Reply:
    xname = hms_names.verified(call.args["xname"])
    if not xname:
        return problem(400, "invalid xname")
    if xname not in hsm.node_maps:
        return problem(404, "no such xname.")
    del hsm.node_maps[xname]
    return message("deleted 1 entry")


def _delete_all(hsm: Hsm, _: Call) -> Reply:
    count = len(hsm.node_maps)
    hsm.node_maps.clear()
    return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")
