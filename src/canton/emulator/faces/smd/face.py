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
    memberships,
    nodemaps,
    partitions,
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
    locks,
    reservations,
    powermaps,
)


def open_face(world: World) -> Face:
    hsm = open_hsm(world)
    routes = [route for module in MODULES for route in module.routes(hsm)]
    return Face("smd", [("/apis/smd", "")], routes, wrong_method=_wrong_method)


def _wrong_method(_: Call, allowed: Sequence[str]) -> Reply:
    methods = ",".join(allowed)
    return problem(405, f"allow {methods}", [("Allow", methods)])
