"""``/Inventory/ServiceEndpoints``: the Redfish services that endpoints offer."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.hms.names import normal, verified
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.endpoints.seed_data import of_endpoints
from csm_emulator.services.smd.query_parameters import BadValue, Wanted, alphanumeric, positive, values
from csm_emulator.services.smd.responses import answer, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/ServiceEndpoints"
_NONE = "no such service under redfish endpoint."
_BAD_XNAME, _BAD_TYPE = "Argument was not a valid xname ID", "Argument was not a valid HMS Type"


class ServiceEndpoints:
    def __init__(self, table: RecordTable) -> None:
        self._table = table

    def list(self, call: Call) -> Reply:
        return self._select(values(call, "redfish_ep"), values(call, "service"))

    def of_service(self, call: Call) -> Reply:
        return self._select(values(call, "redfish_ep"), [call.args["service"]])

    def _select(self, xnames: Sequence[str], services: Sequence[str]) -> Reply:
        try:
            endpoint = Wanted(xnames, verified)
        except BadValue:
            return problem(400, _BAD_XNAME)
        try:
            service = Wanted(services, alphanumeric)
        except BadValue:
            return problem(400, _BAD_TYPE)
        named = list(map(verified, positive(xnames)))
        keys = (key.split(" ") for key in (of_endpoints(self._table, named) if named else self._table))
        found = [self._table[f"{name} {xname}"] for name, xname in keys if service(name) and endpoint(xname)]
        return answer({"ServiceEndpoints": found})

    def read(self, call: Call) -> Reply:
        if not verified(call.args["xname"]):
            return problem(400, _BAD_XNAME)
        if not alphanumeric(call.args["service"]):
            return problem(400, _BAD_TYPE)
        found = self._table.get(f"{call.args['service']} {normal(call.args['xname'])}")
        return answer(found) if found else problem(404, _NONE)

    def delete(self, call: Call) -> Reply:
        if self._table.pop(f"{call.args['service']} {normal(call.args['xname'])}", None) is None:
            return problem(404, _NONE)
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
