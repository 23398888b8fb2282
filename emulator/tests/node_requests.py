"""Requests about one node in the middle of its machine: a larger machine must not make them slower."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from csm_emulator.site import Site
from csm_emulator.transport.call import Call

ROUNDS = 5
HSM = "/hsm/v2"
SMD = (
    "State/Components/{node}",
    "State/Components?id={node}",
    "State/Components?nid={nid}",
    "State/Components/ByNID/{nid}",
    "State/Components/Query/{node}",
    "State/Components/Query/{blade}?type=Node",
    "Inventory/Hardware/{node}",
    "Inventory/Hardware?id={node}",
    "Inventory/Hardware?fruid={fru}",
    "Inventory/Hardware?serialnumber={serial}",
    "Inventory/Hardware/Query/{node}",
    "Inventory/Hardware/Query/{node}?format=FullyFlat",
    "Inventory/Hardware/Query/{node}?parents=true",
    "Inventory/Hardware/Query/{node}?parents=true&children=true",
    "Inventory/Hardware/Query/{node}?children=false",
    "Inventory/Hardware/Query/{node}?type=Processor",
    "Inventory/Hardware/Query/{node}?type=Processor&children=false",
    "Inventory/Hardware/History/{node}",
    "Inventory/Hardware/History?id={node}",
    "Inventory/HardwareByFRU/{fru}",
    "Inventory/HardwareByFRU?fruid={fru}",
    "Inventory/HardwareByFRU?serialnumber={serial}",
    "Inventory/HardwareByFRU/History/{fru}",
    "Inventory/HardwareByFRU/History?fruid={fru}",
    "Inventory/RedfishEndpoints/{bmc}",
    "Inventory/RedfishEndpoints?id={bmc}",
    "Inventory/RedfishEndpoints?fqdn={bmc}",
    "Inventory/ComponentEndpoints/{node}",
    "Inventory/ComponentEndpoints?id={node}",
    "Inventory/ComponentEndpoints?redfish_ep={bmc}",
    "Inventory/ServiceEndpoints?redfish_ep={bmc}",
    "Inventory/ServiceEndpoints/UpdateService?redfish_ep={bmc}",
    "Inventory/EthernetInterfaces?ComponentID={node}",
    "Inventory/EthernetInterfaces?MACAddress={mac}",
    "Inventory/EthernetInterfaces?IPAddress={address}",
    "memberships/{node}",
    "memberships?id={node}",
)
OTHER_SERVICES = (
    "sls /v1/hardware/{node}",
    "sls /v1/search/hardware?xname={node}",
    "sls /v1/search/hardware?parent={bmc}",
    "sls /v1/search/hardware?node_nics={connected}",
    "sls /v1/search/hardware?extra_properties.NID={nid}",
    "bss /boot/v1/bootparameters?name={node}",
    "bss /boot/v1/bootparameters?mac={mac}",
    "bss /boot/v1/bootparameters?nid={nid}",
    "bss /boot/v1/bootscript?mac={mac}",
    "bss /boot/v1/hosts?name={node}",
    "bss /boot/v1/endpoint-history?name={node}",
    "pcs /v1/power-status?xname={node}",
    "hbtd /hmi/v1/hbstate/{node}",
    "hmnfd /hmi/v2/subscriptions/{node}",
    "scsd /v1/bmc/cfg/{bmc}",
    "scsd /v1/bmc/creds?targets={bmc}",
    "scsd /v1/bmc/bios/{node}/tpmstate",
    "bos /v2/components/{node}",
    "bos /v2/components?ids={node}",
    "cfs /v2/components/{node}",
    "cfs /v3/components/{node}",
    "cfs /v3/components?ids={node}",
    "capmc /capmc/v1/health",
    "console-operator /console-operator/location/cray-console-node-0",
)
POSTS: tuple[tuple[str, Any], ...] = (
    (f"smd {HSM}/State/Components/Query", {"ComponentIDs": ["{node}"]}),
    (f"smd {HSM}/State/Components/ByNID/Query", {"NIDRanges": ["{nid}"]}),
    (f"smd {HSM}/locks/status", {"ComponentIDs": ["{node}"]}),
    ("pcs /v1/power-status", {"xname": ["{node}"]}),
    ("capmc /capmc/v1/get_xname_status", {"xnames": ["{node}"]}),
    ("hbtd /hmi/v1/hbstates", {"XNames": ["{node}"]}),
    ("tapms /v1alpha3/tenants", ["{node}"]),
)
WITH_BODY: tuple[tuple[str, Any], ...] = (("console-operator /console-operator/getNodePod", {"xname": "{node}"}),)
REQUESTS = (*(f"GET smd {HSM}/{path}" for path in SMD), *(f"GET {path}" for path in OTHER_SERVICES))
ALL = (*REQUESTS, *(f"GET {path}" for path, _ in WITH_BODY), *(f"POST {path}" for path, _ in POSTS))


@dataclass(frozen=True, slots=True)
class Measurement:
    milliseconds: float
    status: int
    size: int


class NodeRequests:
    """A node of a machine, and the cost of requests about it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        nodes = [part for part in site.machine.parts("Node") if part.hardware_class != "River"]
        node = nodes[len(nodes) // 2]
        place = site.machine.place(node.xname)
        nic = next(nic for nic in site.machine.nics(node.xname) if nic.network == "NMN")
        record = site.ask("smd", Call("GET", f"{HSM}/Inventory/Hardware/{node.xname}")).json()["PopulatedFRU"]
        self._names = {
            "node": node.xname,
            "bmc": node.controller,
            "blade": node.controller.rpartition("b")[0],
            "nid": str(place.nid if place else 0),
            "mac": nic.mac.lower(),
            "address": nic.address,
            "fru": record["FRUID"],
            "serial": record["NodeFRUInfo"]["SerialNumber"],
            "connected": _connected(site),
        }

    def ask(self, request: str) -> Measurement:
        """The smallest CPU time of several runs, and status and size of the reply."""
        method, service, target = request.split(" ", 2)
        path, _, query = target.format_map(self._names).partition("?")
        pairs = tuple(_pairs(query))
        body = self._body(f"{service} {target}")
        call = Call(method, path, pairs, {"content-type": "application/json"} if body else {}, body)
        best, reply = float("inf"), None
        for _ in range(ROUNDS):
            began = time.thread_time()
            reply = self._site.ask(service, call)
            best = min(best, time.thread_time() - began)
        assert reply is not None
        return Measurement(best * 1000, reply.status, len(reply.body))

    def _body(self, path: str) -> bytes:
        body = dict((*POSTS, *WITH_BODY)).get(path)
        text = "" if body is None else json.dumps(body)
        for name, value in self._names.items():
            text = text.replace(f"{{{name}}}", value)
        return text.encode()


def _connected(site: Site) -> str:
    """A controller with a port of a management switch in SLS."""
    query = (("type", "comptype_mgmt_switch_connector"),)
    rows = site.ask("sls", Call("GET", "/v1/search/hardware", query)).json()
    return str(next(row["ExtraProperties"]["NodeNics"][0] for row in rows))


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        yield name, value
