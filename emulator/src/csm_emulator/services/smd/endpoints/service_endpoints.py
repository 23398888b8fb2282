"""``/Inventory/ServiceEndpoints``: the Redfish services of endpoints."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.hms.names import normal, verified
from csm_emulator.records import Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.endpoints.seed_data import service_keys_of
from csm_emulator.services.smd.query_parameters import InvalidValue, ValueFilter, alphanumeric, lookup_values, values
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/ServiceEndpoints"
_NOT_FOUND = "no such service under redfish endpoint."
_BAD_XNAME, _BAD_TYPE = "Argument was not a valid xname ID", "Argument was not a valid HMS Type"


class ServiceEndpoints:
    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table

    def list(self, call: Call) -> Reply:
        return self._select(values(call, "redfish_ep"), values(call, "service"))

    def of_service(self, call: Call) -> Reply:
        return self._select(values(call, "redfish_ep"), [call.args["service"]])

    def _select(self, xnames: Sequence[str], services: Sequence[str]) -> Reply:
        try:
            matches_endpoint = ValueFilter(xnames, verified)
        except InvalidValue:
            return problem(400, _BAD_XNAME)
        try:
            matches_service = ValueFilter(services, alphanumeric)
        except InvalidValue:
            return problem(400, _BAD_TYPE)
        endpoints = list(map(verified, lookup_values(xnames)))
        keys = (key.split(" ") for key in (service_keys_of(self._table, endpoints) if endpoints else self._table))
        records = [
            self._table[f"{name} {xname}"] for name, xname in keys if matches_service(name) and matches_endpoint(xname)
        ]
        return json_reply({"ServiceEndpoints": records})

    def read(self, call: Call) -> Reply:
        if not verified(call.args["xname"]):
            return problem(400, _BAD_XNAME)
        if not alphanumeric(call.args["service"]):
            return problem(400, _BAD_TYPE)
        record = self._table.get(f"{call.args['service']} {normal(call.args['xname'])}")
        return json_reply(record) if record else problem(404, _NOT_FOUND)

    def delete(self, call: Call) -> Reply:
        if self._table.pop(f"{call.args['service']} {normal(call.args['xname'])}", None) is None:
            return problem(404, _NOT_FOUND)
        return message("deleted 1 entry")

    def delete_all(self, _: Call) -> Reply:
        count = len(self._table)
        self._table.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def routes(hsm: Hsm) -> Sequence[Route]:
    endpoints = ServiceEndpoints(hsm.inventory.service_endpoints)
    one = f"{BASE}/{{service}}/RedfishEndpoints/{{xname}}"
    return (
        Route("GET", one, endpoints.read),
        Route("DELETE", one, endpoints.delete),
        Route("GET", f"{BASE}/{{service}}", endpoints.of_service),
        Route("GET", BASE, endpoints.list),
        Route("DELETE", BASE, endpoints.delete_all),
    )
