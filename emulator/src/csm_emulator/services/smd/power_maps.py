"""``/sysinfo/powermaps``: the power supplies of each component."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.types import STRING, STRINGS, slice_of, struct
from csm_emulator.dialects.hms.names import hms_type, normal, verified
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import with_body
from csm_emulator.services.smd.postgres_text import LONGEST_XNAME
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/sysinfo/powermaps"
MAP = struct("sm.PowerMap", {"id": STRING, "poweredBy": STRINGS})


class PowerMaps:
    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table

    def list(self, _: Call) -> Reply:
        return json_reply(list(self._table.values()))

    def add(self, _: Call, body: Json) -> Reply:
        maps = []
        for index, posted in enumerate(body or ()):
            if not posted["poweredBy"]:
                return problem(400, "poweredby is required for PowerMaps")
            try:
                maps.append(_power_map(posted))
            except ValueError as error:
                return problem(400, f"couldn't validate map data at idx {index}: {error}")
        if not all(map(_fits, maps)):
            return problem(500, "operation 'POST' failed during store. ")
        for posted in maps:
            self._table[posted["id"]] = posted
        return message(f"Created or modified {len(maps)} entries")

    def delete_all(self, _: Call) -> Reply:
        count = len(self._table)
        self._table.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")

    def read(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return problem(400, "invalid xname")
        record = self._table.get(xname)
        return json_reply(record) if record else problem(404, "no such xname.")

    def put(self, call: Call, body: Json) -> Reply:
        xname = normal(call.args["xname"])
        if body["id"] and normal(body["id"]) != xname:
            return problem(400, "xname in URL and PUT body do not match")
        if not body["poweredBy"]:
            return problem(400, "poweredby is required in PUT body")
        try:
            record = _power_map({**body, "id": body["id"] or xname})
        except ValueError as error:
            return problem(400, f"couldn't validate PowerMap data: {error}")
        if not _fits(record):
            return problem(500, "operation 'PUT' failed during store")
        self._table[record["id"]] = record
        return json_reply(record)

    def delete(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        if not hms_type(xname):
            return problem(400, "invalid xname")
        if self._table.pop(xname, None) is None:
            return problem(404, "no such xname.")
        return message("deleted 1 entry")


def _power_map(body: Json) -> Json:
    xname = verified(body["id"])
    if not xname:
        raise ValueError(f"xname ID '{body['id']}' is invalid")
    for supply in body["poweredBy"]:
        if not verified(supply):
            raise ValueError(f"Power supply xname ID '{supply}' is invalid")
    return {"id": xname, "poweredBy": [verified(supply) for supply in body["poweredBy"]]}


def _fits(record: Json) -> bool:
    return all(len(xname) <= LONGEST_XNAME for xname in (record["id"], *record["poweredBy"]))


def routes(hsm: Hsm) -> Sequence[Route]:
    maps = PowerMaps(hsm.context.tables.open("smd.powermaps"))
    one = f"{BASE}/{{xname}}"
    return (
        Route("GET", one, maps.read),
        Route("GET", BASE, maps.list),
        Route("DELETE", one, maps.delete),
        Route("PUT", one, with_body(MAP, maps.put)),
        Route("POST", BASE, with_body(slice_of(MAP), maps.add)),
        Route("DELETE", BASE, maps.delete_all),
    )
