"""SCSD's Redfish requests to a controller: whether it answers, and its manufacturer."""

from __future__ import annotations

from http import HTTPStatus

from csm_emulator.context import Context
from csm_emulator.machine.parts import Part

CRAY, HPE, GIGABYTE, INTEL = "cray", "hpe", "gigabyte", "intel"
ROOT = "/redfish/v1/"
CHASSIS = "/redfish/v1/Chassis"
_MAKERS = {"hewlett": HPE, "hpe": HPE, "gigabyte": GIGABYTE, "giga-byte": GIGABYTE, "intel": INTEL, "cray": CRAY}


class Redfish:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._nodes: dict[str, list[Part]] = {}
        for part in context.machine.parts("Node"):
            self._nodes.setdefault(part.controller, []).append(part)

    def answers(self, target: str) -> bool:
        """Whether the controller answers. Each call counts as a request for faults: call it once per operation."""
        host = without_port(target)
        unreachable = self._context.faults.trigger("bmc-unreachable", host)
        return not unreachable and self._context.machine.power.reachable(host)

    def vendor(self, target: str) -> str:
        """The vendor, which SCSD reads from the Chassis collection; empty when it is unknown."""
        part = self._context.machine.part(without_port(target))
        if part is None:
            return ""
        if part.type == "CabinetPDUController":
            return ""
        if part.hardware_class != "River" or part.type == "RouterBMC":
            return CRAY
        return self._maker(part)

    def nodes(self, bmc: str) -> list[Part]:
        return self._nodes.get(bmc, [])

    def _maker(self, part: Part) -> str:
        boards = [node.model.board for node in self.nodes(part.xname) if node.model]
        names = [fru.manufacturer.lower() for fru in (*boards, part.fru) if fru]
        return next((maker for name in names for word, maker in _MAKERS.items() if word in name), "")


def without_port(target: str) -> str:
    return target.partition(":")[0]


def bad_status(target: str, path: str, status: int = 500) -> str:
    return f"Bad return code from 'https://{target}{path}': {status} - {HTTPStatus(status).phrase}"
