"""``/Inventory/Discover`` and ``/Inventory/DiscoveryStatus``."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRINGS, struct
from csm_emulator.dialects.hms.names import normal
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.discovery.run import KIND, Discoverer
from csm_emulator.services.smd.responses import json_reply, problem
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

DISCOVER = "/hsm/v2/Inventory/Discover"
STATUS = "/hsm/v2/Inventory/DiscoveryStatus"
BODY = struct("sm.DiscoverIn", {"xnames": STRINGS, "force": BOOL})


class Discovery:
    def __init__(self, hsm: Hsm, discoverer: Discoverer) -> None:
        self._hsm = hsm
        self._discoverer = discoverer
        # SMD has one status and never writes it (UpsertDiscoveryStatus is an empty function).
        updated = rfc3339(hsm.inventory.discovery_time)
        self._status = {"ID": 0, "Status": "NotStarted", "LastUpdateTime": updated, "Details": {}}

    def start(self, call: Call) -> Reply:
        try:
            body = decode(call.body, BODY)
        except DecodeError:
            return problem(400, "POST body was not understood")
        endpoints = self._hsm.inventory.endpoints
        for text in body["xnames"] or ():
            if not text:
                return problem(500, "Failed due to DB access issue.")
            if normal(text) not in endpoints:
                return problem(404, f"No such RedfishEndpoint: {text}")
        if not endpoints:
            return problem(404, "RedfishEndpoints collection is empty")
        xnames = [normal(text) for text in body["xnames"] or ()] or list(endpoints)
        self._discoverer.start(dict.fromkeys(xnames), force=body["force"])
        return json_reply([{"URI": f"{STATUS}/0"}])

    def statuses(self, _: Call) -> Reply:
        return json_reply([self._status])

    def status(self, call: Call) -> Reply:
        text = call.args["id"]
        if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= 1 << 32:
            return problem(400, "DiscoveryStatus ID not an unsigned integer")
        if int(text) >= 1 << 31:
            return problem(500, "Failed due to DB access issue.")
        return json_reply(self._status) if int(text) == 0 else problem(404, "no such DiscoveryStatus ID.")


def routes(hsm: Hsm) -> Sequence[Route]:
    discoverer = Discoverer(hsm)
    hsm.context.scheduler.register(KIND, discoverer.finish)
    discovery = Discovery(hsm, discoverer)
    return (
        Route("POST", DISCOVER, discovery.start),
        Route("GET", STATUS, discovery.statuses),
        Route("GET", f"{STATUS}/{{id}}", discovery.status),
    )
