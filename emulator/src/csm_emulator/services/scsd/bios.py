"""The state of nodes' TPMs: a change takes effect at the next start of the node."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.machine.context import Event
from csm_emulator.services.scsd.problems import OperationError, with_error_replies
from csm_emulator.services.scsd.redfish import CHASSIS, CRAY, GIGABYTE, HPE, INTEL, Redfish, bad_status
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

VALUES = ("Enabled", "Disabled")
_PATCH = struct("main.BiosTpmStatePatch", {"Future": STRING})
_SYSTEMS = {
    CRAY: "/redfish/v1/Systems/Node{}",
    GIGABYTE: "/redfish/v1/Systems/Self",
    HPE: "/redfish/v1/Systems/1",
    INTEL: "/redfish/v1/Systems/{}",
}


class Bios:
    def __init__(self, context: Context, redfish: Redfish) -> None:
        self._redfish = redfish
        factory = {"Current": "Disabled", "Future": "Disabled"}
        self._table = context.tables.open("scsd.tpm", {part.xname: factory for part in context.machine.parts("Node")})
        context.machine.watch(self._on_event)

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/bmc/bios/{xname}/tpmstate", with_error_replies(self.get)),
            Route("PATCH", "/v1/bmc/bios/{xname}/tpmstate", with_error_replies(self.patch)),
        ]

    def get(self, call: Call) -> Reply:
        node = self._node(call.args["xname"], "Get BIOS TPM State")
        return marshalled(self._table[node])

    def patch(self, call: Call) -> Reply:
        title = "Patch BIOS TPM State"
        try:
            future = decode(call.body, _PATCH)["Future"]
        except DecodeError as error:
            raise OperationError(400, "Bad request data", f"ERROR: Problem getting request data: {error}") from error
        if future not in VALUES:
            raise OperationError(400, "Bad request data", f"ERROR: Invalid future value: {future}")
        node = self._node(call.args["xname"], title)
        if self._redfish.vendor(_bmc(node)) == INTEL:
            raise OperationError(400, title, f"Modifications not supported by BMC at {node}")
        self._table[node] = {**self._table[node], "Future": future}
        return Reply(204, media="application/json")

    def _node(self, xname: str, title: str) -> str:
        """The node, if its controller has it; raises ``OperationError``."""
        kind = hms_type(xname)
        if not kind:
            raise OperationError(400, title, f"ERROR: {xname} is an invalid xname")
        if kind != "Node":
            detail = f"ERROR: {xname} is not the xname of a node. The xname should match: xXcCsSbBnN"
            raise OperationError(400, title, detail)
        node = normal(xname)
        bmc = _bmc(node)
        if not self._redfish.answers(bmc):
            raise OperationError(500, title, f"ERROR: Call failed {CHASSIS}. {bad_status(bmc, CHASSIS)}")
        vendor = self._redfish.vendor(bmc)
        if not vendor:
            raise OperationError(
                400, title, f"ERROR: BIOS calls not supported for this type of hardware. xname: {node} "
            )
        if node not in self._table:
            known_uris = " ".join(
                _SYSTEMS[vendor].format(sibling.xname.rpartition("n")[2]) for sibling in self._redfish.nodes(bmc)
            )
            detail = "Error: Could not find redfish system URI that matches the node"
            raise OperationError(404, title, f"{detail} {node}. Known system URIs [{known_uris}]")
        return node

    def _on_event(self, event: Event) -> None:
        if event.kind == "stage" and event.value == "post" and event.xname in self._table:
            state = self._table[event.xname]
            if state["Current"] != state["Future"]:
                self._table[event.xname] = {**state, "Current": state["Future"]}


def _bmc(node: str) -> str:
    return node.rpartition("n")[0]
