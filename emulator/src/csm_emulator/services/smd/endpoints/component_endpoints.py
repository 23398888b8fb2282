"""``/Inventory/ComponentEndpoints``: the components of Redfish endpoints, by xname."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.endpoints.deletion import empty_components
from csm_emulator.services.smd.enums import TYPE, spelled
from csm_emulator.services.smd.hardware.records import quick_kind
from csm_emulator.services.smd.query_parameters import InvalidValue, ValueFilter, alphanumeric, lookup_values, values
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/ComponentEndpoints"
_FILTERS = (
    ("id", "ID", verified, "Argument was not a valid xname ID"),
    ("redfish_ep", "RedfishEndpointID", verified, "Argument was not a valid xname ID"),
    # The parameter is called redfish_type, but the database compares the subtype.
    ("redfish_type", "RedfishSubtype", alphanumeric, "Argument was not a valid Redfish type"),
    ("type", "Type", lambda text: spelled(TYPE, text), "Argument was not a valid HMS Type"),
)


class ComponentEndpoints:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._table = hsm.inventory.component_endpoints

    def list(self, call: Call) -> Reply:
        tests = []
        for name, key, check, error in _FILTERS:
            try:
                tests.append((key, ValueFilter(values(call, name), check)))
            except InvalidValue:
                return problem(400, f"bad query param: {error}")
        # Id and type follow from the key; a record is computed when it is read.
        (_, matches_id), (_, matches_type) = tests[0], tests[3]
        xnames = (xname for xname in self._candidates(call) if matches_id(xname) and matches_type(quick_kind(xname)))
        endpoints: dict[str, Json] = {}
        records = (self._joined(self._table[xname], endpoints) for xname in xnames)
        return json_reply(
            {"ComponentEndpoints": [record for record in records if all(test(record[key]) for key, test in tests)]}
        )

    def _candidates(self, call: Call) -> Iterable[str]:
        """Xnames that include all matches."""
        if xnames := lookup_values(values(call, "id")):
            return [xname for xname in dict.fromkeys(map(verified, xnames)) if xname in self._table]
        endpoints = lookup_values(values(call, "redfish_ep"))
        return self._hsm.inventory.by_endpoint.candidates(map(verified, endpoints)) if endpoints else self._table

    def read(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return problem(400, "Argument was not a valid xname ID")
        record = self._table.get(xname)
        return json_reply(self._joined(record, {})) if record else problem(404, "no such xname.")

    def _joined(self, record: Json, endpoints: dict[str, Json]) -> Json:
        """The record with the current name and switch of its Redfish endpoint."""
        name = record["RedfishEndpointID"]
        endpoint = endpoints.get(name)
        if endpoint is None:
            endpoint = endpoints[name] = self._hsm.inventory.endpoints[name]
        fqdn = endpoint["FQDN"]
        if record["RedfishEndpointFQDN"] == fqdn and record["Enabled"] == endpoint["Enabled"]:
            return record
        url = f"{fqdn}{record['OdataID']}"
        return {**record, "Enabled": endpoint["Enabled"], "RedfishEndpointFQDN": fqdn, "RedfishURL": url}

    def delete(self, call: Call) -> Reply:
        text = call.args["xname"]
        xname = verified(text) if text.isascii() and text.isalnum() else ""
        if not xname:
            return problem(400, "Argument was not a valid xname ID")
        if xname not in self._table:
            return problem(404, "no such xname.")
        empty_components(self._hsm, [xname])
        del self._table[xname]
        return message("deleted 1 entry")

    def delete_all(self, _: Call) -> Reply:
        xnames = list(self._table)
        if not xnames:
            return problem(404, "no entries to delete")
        empty_components(self._hsm, xnames)
        self._table.clear()
        return message(f"deleted {len(xnames)} entries")


def routes(hsm: Hsm) -> Sequence[Route]:
    endpoints = ComponentEndpoints(hsm)
    one = f"{BASE}/{{xname}}"
    return (
        Route("GET", one, endpoints.read),
        Route("DELETE", one, endpoints.delete),
        Route("GET", BASE, endpoints.list),
        Route("DELETE", BASE, endpoints.delete_all),
    )
