"""All routes of HSM v2."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.smd import health, power_maps, subscriptions
from csm_emulator.services.smd.components import api as components
from csm_emulator.services.smd.components import node_maps, patches, queries
from csm_emulator.services.smd.database import open_hsm
from csm_emulator.services.smd.discovery import api as discovery
from csm_emulator.services.smd.discovery import heartbeat_polling, redfish_events
from csm_emulator.services.smd.endpoints import component_endpoints, redfish_endpoints, service_endpoints
from csm_emulator.services.smd.groups import groups, memberships, partitions
from csm_emulator.services.smd.hardware import api as hardware
from csm_emulator.services.smd.interfaces import api as ethernet_interfaces
from csm_emulator.services.smd.locks import locks, reservations
from csm_emulator.services.smd.responses import problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService

MODULES = (
    health,
    components,
    patches,
    queries,
    component_endpoints,
    service_endpoints,
    ethernet_interfaces,
    node_maps,
    hardware,
    redfish_endpoints,
    discovery,
    subscriptions,
    groups,
    partitions,
    memberships,
    reservations,
    locks,
    power_maps,
)
"""In the order in which SMD registers its routes: the methods that a 405 lists depend on it."""
_SUBSCRIPTIONS = "/hsm/v2/Subscriptions/SCN"


def create_service(context: Context) -> EmulatedService:
    hsm = open_hsm(context)
    routes = [route for module in MODULES for route in module.routes(hsm)]
    mux = Mux(routes, _wrong_method)
    redfish_events.watch_machine(hsm)
    heartbeat_polling.begin(hsm)
    return EmulatedService(
        "smd", [("/apis/smd", "")], settle(routes), not_found=mux.not_found, wrong_method=mux.wrong_method
    )


def _wrong_method(call: Call, methods: Sequence[str]) -> Reply:
    path = call.path.removesuffix("/")
    # SMD gave two routes the name doGetSCNSubscriptionV2, and finds the second by it where it means the first.
    if path == _SUBSCRIPTIONS:
        methods = [method for method in methods if method != "GET"]
    elif path.startswith(f"{_SUBSCRIPTIONS}/"):
        methods = ["GET", *methods]
    allowed = ",".join(methods)
    return problem(405, f"allow {allowed}", [("Allow", allowed)])
