"""``/Inventory/RedfishEndpoints``: the controllers that SMD discovers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import mentions
from csm_emulator.dialects.go_json.types import BOOL, STRING, GoType, pointer_to, slice_of, struct, texts
from csm_emulator.dialects.hms.names import normal, verified
from csm_emulator.machine.lookup import Lookup
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.discovery.run import Discoverer
from csm_emulator.services.smd.endpoints.deletion import empty_children
from csm_emulator.services.smd.endpoints.seed_data import service_keys_of
from csm_emulator.services.smd.endpoints.validation import FIELDS, WIDTHS, patched, validated
from csm_emulator.services.smd.enums import TYPE, spelled
from csm_emulator.services.smd.errors import DatabaseError, check_widths, with_body
from csm_emulator.services.smd.query_parameters import InvalidValue, ValueFilter, lookup_values, values
from csm_emulator.services.smd.responses import all_created, json_reply, message, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/RedfishEndpoints"
_SWITCHES = ("Enabled", "UseSSDP", "MACRequired", "RediscoverOnUpdate")
RAW_FIELDS: dict[str, GoType] = {name: pointer_to(BOOL) if name in _SWITCHES else STRING for name in FIELDS}
RAW = struct("rf.RawRedfishEP", RAW_FIELDS)
POSTED = struct(
    "main.scanableRedfishEndpoint",
    {**{name: pointer_to(kind) for name, kind in RAW_FIELDS.items()}, "RedfishEndpoints": pointer_to(slice_of(RAW))},
    embedded=dict.fromkeys(RAW_FIELDS, "RawRedfishEP"),
)
PATCH = struct(
    "sm.RedfishEndpointPatch",
    {name: kind if name in _SWITCHES else pointer_to(STRING) for name, kind in RAW_FIELDS.items()},
)
_DEFAULTS = dict.fromkeys(texts(" ".join(name for name in FIELDS if name not in _SWITCHES)), "") | dict.fromkeys(
    _SWITCHES
)
_CONFLICT = "operation would conflict with an existing resource that has the same FQDN"
_FILTERS = (
    ("id", "ID", verified, "Argument was not a valid xname ID"),
    ("fqdn", "FQDN", None, ""),
    ("uuid", "UUID", None, ""),
    ("type", "Type", lambda text: spelled(TYPE, text), "Argument was not a valid HMS Type"),
    ("macaddr", "MACAddr", None, ""),
    ("ipaddress", "IPAddress", None, ""),
)


class RedfishEndpoints:
    def __init__(self, hsm: Hsm, discoverer: Discoverer) -> None:
        self._hsm = hsm
        self._table = hsm.inventory.endpoints
        self._discoverer = discoverer
        self._lookups = {
            name: Lookup(self._table, partial(_indexed_values, self._table.seed, key))
            for name, key, check, _ in _FILTERS
            if check is None
        }

    def list(self, call: Call) -> Reply:
        tests = []
        for name, key, check, error in _FILTERS:
            try:
                tests.append((key, ValueFilter(values(call, name), check)))
            except InvalidValue:
                return problem(400, f"bad query param: {error}")
        status = ValueFilter(values(call, "laststatus"))
        records = [
            record
            for record in map(self._table.__getitem__, self._candidates(call))
            if all(test(record.get(key, "")) for key, test in tests)
            and status(record["DiscoveryInfo"]["LastDiscoveryStatus"])
        ]
        return json_reply({"RedfishEndpoints": records})

    def _candidates(self, call: Call) -> Iterable[str]:
        """Xnames that include all matches."""
        if xnames := lookup_values(values(call, "id")):
            return [xname for xname in dict.fromkeys(map(verified, xnames)) if xname in self._table]
        for name, lookup in self._lookups.items():
            if filter_values := lookup_values(values(call, name)):
                return lookup.candidates(filter_values)
        return self._table

    def query(self, call: Call) -> Reply:
        if call.args["xname"] not in ("all", "s0"):
            return problem(400, "not yet implemented")
        return json_reply({"RedfishEndpoints": list(self._table.values())})

    def read(self, call: Call) -> Reply:
        record = self._table.get(normal(call.args["xname"]))
        return json_reply(record) if record else problem(404, "no such xname.")

    def create(self, call: Call, body: Json) -> Reply:
        one = {name: body[name] for name in RAW_FIELDS}
        single = mentions(call.body, RAW)
        raws = (
            [{name: _DEFAULTS[name] if one[name] is None else one[name] for name in one}]
            if single
            else body["RedfishEndpoints"]
        )
        new = []
        for index, raw in enumerate(raws or ()):
            try:
                new.append(validated(raw))
            except ValueError as error:
                position = "" if single else f" at idx {index}"
                return problem(400, f"couldn't validate endpoint data{position}: {error}")
        return self._insert(new)

    def _insert(self, new: Sequence[Json]) -> Reply:
        records = {record["ID"]: record for record in reversed(new)}
        names = [record["FQDN"] for record in records.values()]
        try:
            for record in records.values():
                check_widths(*((record.get(name, ""), width) for name, width in WIDTHS))
        except DatabaseError:
            return problem(500, "operation 'POST' failed during store. ")
        conflict = any(xname in self._table or self._same_fqdn(record) for xname, record in records.items())
        if conflict or len(set(names)) != len(names):
            return problem(409, f"{_CONFLICT} or xname ID.")
        for record in new:
            self._table.setdefault(record["ID"], records[record["ID"]])
        self._discoverer.start([xname for xname in records if records[xname]["RediscoverOnUpdate"]])
        return all_created(BASE, [f"{BASE}/{record['ID']}" for record in new])

    def put(self, call: Call, body: Json) -> Reply:
        xname = normal(call.args["xname"])
        if body["ID"] and normal(body["ID"]) != xname:
            return problem(400, "xname in URL and PUT body do not match")
        raw = {**body, "ID": body["ID"] or xname}
        try:
            record = validated(raw)
        except ValueError as error:
            return problem(400, f"couldn't validate endpoint data: {error}")
        old = self._table.get(record["ID"])
        if old is None:
            return problem(404, f"No such entry: {raw['ID']}")
        return self._update(old, record, "PUT")

    def change(self, call: Call, body: Json) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return problem(400, "xname in URL is not valid")
        old = self._table.get(xname)
        if old is None:
            return problem(404, f"No such entry: {xname}")
        try:
            record = patched(old, body)
        except ValueError:
            return problem(500, "operation 'PATCH' failed during store")
        if record is None:
            self._rediscover(old)
            return json_reply(old)
        return self._update(old, record, "PATCH")

    def _update(self, old: Json, record: Json, method: str) -> Reply:
        try:
            check_widths(*((record.get(name, ""), width) for name, width in WIDTHS))
        except DatabaseError:
            return problem(500, f"operation '{method}' failed during store")
        if self._same_fqdn(record):
            return problem(409, _CONFLICT)
        if not record["Enabled"]:
            empty_children(self._hsm, [record["ID"]])
        updated = {**record, "DiscoveryInfo": old["DiscoveryInfo"]}
        self._table[record["ID"]] = updated
        self._rediscover(updated)
        return json_reply(updated)

    def _same_fqdn(self, record: Json) -> bool:
        """Whether another endpoint has this FQDN."""
        candidates = map(self._table.__getitem__, self._lookups["fqdn"].candidates([record["FQDN"]]))
        return any(candidate["FQDN"] == record["FQDN"] and candidate["ID"] != record["ID"] for candidate in candidates)

    def _rediscover(self, record: Json) -> None:
        if record["RediscoverOnUpdate"]:
            self._discoverer.start([record["ID"]])

    def delete(self, call: Call) -> Reply:
        text = call.args["xname"]
        if not text.isascii() or not text.isalnum():
            return problem(400, "Argument was not a valid xname ID")
        xname = normal(text)
        if not verified(xname):
            return problem(400, "Argument was not a valid xname ID")
        if xname not in self._table:
            return problem(404, "no such xname.")
        self._remove([xname])
        return message("deleted 1 entry")

    def delete_all(self, _: Call) -> Reply:
        xnames = list(self._table)
        if not xnames:
            return problem(404, "no entries to delete")
        self._remove(xnames)
        return message(f"deleted {len(xnames)} entries")

    def _remove(self, xnames: Sequence[str]) -> None:
        """Remove the endpoints with their component and service endpoints; the components stay, as Empty."""
        empty_children(self._hsm, xnames)
        inventory = self._hsm.inventory
        for xname in inventory.components_of(xnames):
            del inventory.component_endpoints[xname]
        removed = set(xnames)
        services = inventory.service_endpoints
        for key in [key for key in service_keys_of(services, xnames) if key.partition(" ")[2] in removed]:
            del services[key]
        for xname in xnames:
            del self._table[xname]


def _indexed_values(records: Mapping[str, Json], key: str) -> Iterator[tuple[str, str]]:
    return ((record.get(key, ""), xname) for xname, record in records.items())


def routes(hsm: Hsm) -> Sequence[Route]:
    endpoints = RedfishEndpoints(hsm, Discoverer(hsm))
    one = f"{BASE}/{{xname}}"
    return (
        Route("GET", one, endpoints.read),
        Route("GET", BASE, endpoints.list),
        Route("DELETE", one, endpoints.delete),
        Route("PUT", one, with_body(RAW, endpoints.put)),
        Route("PATCH", one, with_body(PATCH, endpoints.change)),
        Route("POST", BASE, with_body(POSTED, endpoints.create)),
        Route("DELETE", BASE, endpoints.delete_all),
        Route("GET", f"{BASE}/Query/{{xname}}", endpoints.query),
    )
