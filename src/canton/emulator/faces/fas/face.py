"""FAS's paths: they stand at the root of the service, and below ``/v1``, as HPE's document lists both."""

from __future__ import annotations

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
from canton.emulator.wire.routes import Face, Route
from canton.emulator.world import World


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

    routes = [
        *service.routes(hsm),
        *images.routes(),
        *Actions(records, images, planning, control).routes(),
        *Snapshots(world, images, survey, firmware, planning).routes(),
        *loader.routes(),
    ]
    below = [Route(route.method, f"/v1{route.path}", route.handler) for route in routes]
    return Face("fas", [("/apis/fas", "")], routes + below, restarted=restarted)
