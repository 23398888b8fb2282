"""Switches of the Fabric Manager, and the port sets of its predecessor, the Fabric Controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PlannedPort, PlannedSwitch
from csm_emulator.records import Record
from csm_emulator.services.fabric_manager.documents import INSTALLATION_TIME, Document, Envelope, not_found
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

PATH = "/fabric/switches"
FIRMWARE = "2.3.0-152"
_SET_HAS_EDGE_PORTS = {"fabric-ports": False, "edge-ports": True}
"""Port set → whether its ports are edge ports."""


class Switches:
    def __init__(self, context: Context, envelope: Envelope) -> None:
        self._context = context
        self._machine = context.machine
        self._plan = context.machine.fabric.plan
        self._envelope = envelope
        self._by_controller = {switch.controller: switch for switch in self._plan.switches.values()}

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", PATH, self._list),
            Route("GET", f"{PATH}/{{switch}}", self._read),
            Route("GET", "/port-sets/{set}", self._ports_of_set),
            Route("GET", "/port-sets/{set}/status", self._status_of_set),
        )

    def _list(self, _: Call) -> Reply:
        links = [f"{PATH}/{controller}" for controller in self._by_controller]
        return self._envelope.list_links(links, totalCount=len(links))

    def _read(self, call: Call) -> Reply:
        switch = self._by_controller.get(call.args["switch"])
        if switch is None:
            raise not_found(f"{PATH}/{call.args['switch']}")
        return json_reply(self._document(switch))

    def _document(self, switch: PlannedSwitch) -> Document:
        ports = self._plan.ports_of(switch.xname)
        edge, fabric = ([port for port in ports if port.edge == kind] for kind in (True, False))
        part = self._machine.part(switch.xname)
        address = next((nic.address for nic in self._machine.nics(switch.controller)), "")
        document = {
            "IP": address,
            "grpId": switch.group,
            "swcNum": switch.number,
            "firmwareVersion": FIRMWARE,
            "firmwareImage": f"controllers-{FIRMWARE}.itb",
            "serialNumber": self._context.random.hex(10, "switch", switch.xname).upper(),
            "switchType": "Colorado" if part and part.hardware_class != "River" else "Columbia",
            "displayName": switch.controller,
            "agentLink": f"/fabric/agents/{switch.controller}",
            "edgePortLinks": _links(edge),
            "fabricPortLinks": _links(fabric),
            "edgePorts": _numbers(edge),
            "fabricPorts": _numbers(fabric),
            "switchLabelList": [],
            "switchPolicyLink": "/fabric/switch-policies/default",
        }
        return document | self._envelope.wrap(
            "SwitchState", f"{PATH}/{switch.controller}", "POST", 0, INSTALLATION_TIME
        )

    def _ports_of_set(self, call: Call) -> Reply:
        return json_reply({"ports": [port.xname for port in self._ports_in(call)]})

    def _status_of_set(self, call: Call) -> Reply:
        """The states on the switches, not those that the documents define."""
        return json_reply({"ports": [self._status(port) for port in self._ports_in(call)]})

    def _status(self, port: PlannedPort) -> Record:
        fabric = self._machine.fabric
        enabled = fabric.powered(port.switch.xname) and fabric.state(port.xname).online
        return {"xname": port.xname, "status": {"enable": enabled}}

    def _ports_in(self, call: Call) -> Iterable[PlannedPort]:
        name = call.args["set"]
        if name not in _SET_HAS_EDGE_PORTS:
            raise not_found(f"/port-sets/{name}")
        return [port for port in self._plan.ports.values() if port.edge == _SET_HAS_EDGE_PORTS[name]]


def _links(ports: Iterable[PlannedPort]) -> list[str]:
    return [f"/fabric/ports/{port.xname}" for port in ports]


def _numbers(ports: Iterable[PlannedPort]) -> list[Record]:
    return [{"portNum": port.number, "conn_port": port.xname} for port in ports]
