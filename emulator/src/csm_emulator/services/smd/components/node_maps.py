"""NodeMaps: NID and role that a node gets when it is discovered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode, mentions
from csm_emulator.dialects.go_json.types import INT, RAW, STRING, pointer_to, slice_of, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Json
from csm_emulator.services.smd import enums as vocabulary
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, answering, fits, refused
from csm_emulator.services.smd.responses import answer, message, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Defaults/NodeMaps"
_FIELDS = {"ID": STRING, "NID": INT, "Role": STRING, "SubRole": STRING, "NodeInfo": RAW}
ONE = struct("sm.NodeMap", _FIELDS)
SEVERAL = struct(
    "main.scanableNodeMap", {**_FIELDS, "NodeMaps": pointer_to(slice_of(ONE))}, dict.fromkeys(_FIELDS, "NodeMap")
)


class _Invalid(Exception):
    """No NodeMap."""


class _SameNid(Exception):
    """Another node has it."""


def routes(hsm: Hsm) -> Sequence[Route]:
    one = f"{BASE}/{{xname}}"
    return (
        Route("GET", one, partial(_get, hsm)),
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("DELETE", one, partial(_delete, hsm)),
        Route("PUT", one, answering(partial(_put, hsm))),
        Route("POST", BASE, answering(partial(_post, hsm))),
        Route("DELETE", BASE, partial(_delete_all, hsm)),
    )


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = hms_names.normal(call.args["xname"])
    if "\0" in xname:
        return refused(DatabaseError())
    return answer(hsm.node_maps[xname]) if xname in hsm.node_maps else problem(404, "no such xname.")


def _get_all(hsm: Hsm, _: Call) -> Reply:
    return answer({"NodeMaps": list(hsm.node_maps.values())})


def _post(hsm: Hsm, call: Call) -> Reply:
    given = decode(call.body, SEVERAL)
    single = mentions(call.body, ONE)
    where = ""
    news = []
    try:
        for index, each in enumerate([given] if single else given["NodeMaps"] or ()):
            where = "mapping data" if single else f"map data at idx {index}"
            news.append(_checked(each))
        _store(hsm, news)
    except _Invalid as error:
        return problem(400, f"couldn't validate {where}: {error}")
    except _SameNid:
        return problem(409, "operation would conflict with an existing xname ID that has the same NID.")
    except DatabaseError:
        return problem(500, "operation 'POST' failed during store. ")
    return message(f"Created or modified {len(news)} entries")


def _put(hsm: Hsm, call: Call) -> Reply:
    xname = hms_names.normal(call.args["xname"])
    given = decode(call.body, ONE)
    if given["ID"] and hms_names.normal(given["ID"]) != xname:
        return problem(400, "xname in URL and PUT body do not match")
    try:
        new = _checked({**given, "ID": given["ID"] or xname})
        _store(hsm, [new])
    except _Invalid as error:
        return problem(400, f"couldn't validate endpoint data: {error}")
    except _SameNid:
        return problem(409, "operation would conflict with an existing resource that has the same NID")
    except DatabaseError:
        return problem(500, "operation 'PUT' failed during store")
    return answer(new)


def _checked(given: Json) -> Json:
    xname = hms_names.normal(given["ID"])
    if hms_names.hms_type(xname) not in hms_names.NODES:
        raise _Invalid(f"xname ID '{given['ID']}' is invalid or not a node")
    if given["NID"] <= 0:
        raise _Invalid(f"NID '{given['NID']}' is out of range")
    found = {"ID": xname, "NID": given["NID"]}
    for field, table in (("Role", vocabulary.ROLE), ("SubRole", vocabulary.SUB_ROLE)):
        word = vocabulary.spelled(table, given[field])
        if given[field] and not word:
            raise _Invalid(f"{field} '{given[field]}' is not valid.")
        found |= {field: word} if word else {}
    return found if given["NodeInfo"] is None else {**found, "NodeInfo": given["NodeInfo"]}


def _store(hsm: Hsm, news: Sequence[Json]) -> None:
    """All or none."""
    owners = {record["NID"]: xname for xname, record in hsm.node_maps.items()}
    for new in news:
        fits((new["ID"], 63))
        if owners.get(new["NID"], new["ID"]) != new["ID"]:
            raise _SameNid
        owners = {nid: xname for nid, xname in owners.items() if xname != new["ID"]} | {new["NID"]: new["ID"]}
    for new in news:
        hsm.node_maps[new["ID"]] = new


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
