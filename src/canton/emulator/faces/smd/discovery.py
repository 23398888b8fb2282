"""``/Inventory/Discover`` and ``/Inventory/DiscoveryStatus``."""

from __future__ import annotations

from collections.abc import Sequence

from canton.emulator.faces.smd.discovering import KIND, Discovering
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.problems import answer, problem
from canton.emulator.machine.clock import rfc3339
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.go_json import Undecodable, decode
from canton.emulator.wire.go_kinds import BOOL, STRINGS, struct
from canton.emulator.wire.hms_names import normal
from canton.emulator.wire.routes import Route

DISCOVER = "/hsm/v2/Inventory/Discover"
STATUS = "/hsm/v2/Inventory/DiscoveryStatus"
BODY = struct("sm.DiscoverIn", {"xnames": STRINGS, "force": BOOL})


class Discovery:
    def __init__(self, hsm: Hsm, discovering: Discovering) -> None:
        self._hsm = hsm
        self._discovering = discovering
        # SMD has one status and never writes it (UpsertDiscoveryStatus is an empty function).
        updated = rfc3339(hsm.inventory.begun)
        self._status = {"ID": 0, "Status": "NotStarted", "LastUpdateTime": updated, "Details": {}}

    def start(self, call: Call) -> Reply:
        try:
            body = decode(call.body, BODY)
        except Undecodable:
            return problem(400, "POST body was not understood")
        endpoints = self._hsm.inventory.endpoints
        for text in body["xnames"] or ():
            if not text:
                return problem(500, "Failed due to DB access issue.")
            if normal(text) not in endpoints:
                return problem(404, f"No such RedfishEndpoint: {text}")
        if not endpoints:
            return problem(404, "RedfishEndpoints collection is empty")
        wanted = [normal(text) for text in body["xnames"] or ()] or list(endpoints)
        self._discovering.begin(dict.fromkeys(wanted), force=body["force"])
        return answer([{"URI": f"{STATUS}/0"}])

    def statuses(self, _: Call) -> Reply:
        return answer([self._status])

    def status(self, call: Call) -> Reply:
        text = call.args["id"]
        if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= 1 << 32:
            return problem(400, "DiscoveryStatus ID not an unsigned integer")
        if int(text) >= 1 << 31:
            return problem(500, "Failed due to DB access issue.")
        return answer(self._status) if int(text) == 0 else problem(404, "no such DiscoveryStatus ID.")


def routes(hsm: Hsm) -> Sequence[Route]:
    discovering = Discovering(hsm)
    hsm.world.agenda.answer(KIND, discovering.finish)
    discovery = Discovery(hsm, discovering)
    return (
        Route("POST", DISCOVER, discovery.start),
        Route("GET", STATUS, discovery.statuses),
        Route("GET", f"{STATUS}/{{id}}", discovery.status),
    )
