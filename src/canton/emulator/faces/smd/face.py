"""All of HSM v2, on its paths."""

from __future__ import annotations

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
from canton.emulator.faces.smd.mux import Mux, settle
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


def open_face(world: World) -> Face:
    hsm = open_hsm(world)
    routes = [route for module in MODULES for route in module.routes(hsm)]
    mux = Mux(routes)
    machine_events.listen(hsm)
    polling.begin(hsm)
    return Face("smd", [("/apis/smd", "")], settle(routes), not_found=mux.not_found, wrong_method=mux.wrong_method)
