"""FAS's paths: they stand at the root of the service, and below ``/v1``, as HPE's document lists both."""

from __future__ import annotations

from dataclasses import replace

from canton.emulator.faces.fas import service
from canton.emulator.faces.fas.actions import Actions
from canton.emulator.faces.fas.control import Control
from canton.emulator.faces.fas.firmware import Firmware
from canton.emulator.faces.fas.hsm import Hsm
from canton.emulator.faces.fas.images import Images
from canton.emulator.faces.fas.launching import Launching
from canton.emulator.faces.fas.loader import Loader
from canton.emulator.faces.fas.planning import Planning, Survey
from canton.emulator.faces.fas.records import Records
from canton.emulator.faces.fas.snapshots import Snapshots
from canton.emulator.wire.call import Call
from canton.emulator.wire.gorilla import Mux, settle
from canton.emulator.wire.routes import Face, Route
from canton.emulator.world import World

PREFIX = "/v1"


def open_face(world: World) -> Face:
    hsm, firmware, records = Hsm(world), Firmware(world), Records(world)
    images = Images(world, firmware.devices)
    survey = Survey(hsm, firmware)
    planning = Planning(world, records, images, survey, firmware)
    control = Control(world, records, Launching(world, records, images, firmware, hsm))
    planning.ready = control.wake
    loader = Loader(world, images)

    def restarted() -> None:
        loader.restarted()
        control.restarted()

    # In FAS's own order: whether a wrong method is 404 or 405 depends on it.
    registered = [
        Route("GET", "/", service.index),
        *Actions(records, images, planning, control).routes(),
        *service.routes(hsm),
        *images.routes(),
        *Snapshots(world, images, survey, firmware, planning).routes(),
        *loader.routes(),
    ]
    mux = Mux(registered)
    routes = settle(registered)
    return Face(
        "fas",
        [("/apis/fas", "")],
        routes + [Route(route.method, PREFIX + route.path, route.handler) for route in routes],
        lambda call: mux.not_found(_at_service(call)),
        lambda call, methods: mux.wrong_method(_at_service(call), methods),
        restarted=restarted,
    )


def _at_service(call: Call) -> Call:
    """FAS itself knows nothing of the prefix, which HPE's gateway takes away."""
    return replace(call, path=call.path.removeprefix(PREFIX)) if call.path.startswith(f"{PREFIX}/") else call
