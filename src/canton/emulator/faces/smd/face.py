"""All of HSM v2, on its paths."""

from __future__ import annotations

from collections.abc import Sequence

from canton.emulator.faces.smd import (
    component_endpoints,
    component_patches,
    component_queries,
    components,
    discovery,
    ethernet_interfaces,
    groups,
    hardware,
    locks,
    machine_events,
    memberships,
    nodemaps,
    partitions,
    polling,
    powermaps,
    redfish_endpoints,
    reservations,
    service,
    service_endpoints,
    subscriptions,
)
from canton.emulator.faces.smd.hsm import open_hsm
from canton.emulator.faces.smd.problems import problem
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.gorilla import Mux, settle
from canton.emulator.wire.routes import Face
from canton.emulator.world import World

MODULES = (
    service,
    components,
    component_patches,
    component_queries,
    component_endpoints,
    service_endpoints,
    ethernet_interfaces,
    nodemaps,
    hardware,
    redfish_endpoints,
    discovery,
    subscriptions,
    groups,
    partitions,
    memberships,
    reservations,
    locks,
    powermaps,
)
"""In the order in which SMD registers its routes: errors depend on it."""
_SUBSCRIPTIONS = "/hsm/v2/Subscriptions/SCN"


def open_face(world: World) -> Face:
    hsm = open_hsm(world)
    routes = [route for module in MODULES for route in module.routes(hsm)]
    mux = Mux(routes, _wrong_method)
    machine_events.listen(hsm)
    polling.begin(hsm)
    return Face("smd", [("/apis/smd", "")], settle(routes), not_found=mux.not_found, wrong_method=mux.wrong_method)


def _wrong_method(call: Call, methods: Sequence[str]) -> Reply:
    path = call.path.removesuffix("/")
    # SMD gave two routes the name doGetSCNSubscriptionV2, and finds the second by it where it means the first.
    if path == _SUBSCRIPTIONS:
        methods = [method for method in methods if method != "GET"]
    elif path.startswith(f"{_SUBSCRIPTIONS}/"):
        methods = ["GET", *methods]
    allowed = ",".join(methods)
    return problem(405, f"allow {allowed}", [("Allow", allowed)])
