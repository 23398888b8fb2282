"""FAS's paths: they stand at the root of the service, and below ``/v1``, as HPE's document lists both."""

from __future__ import annotations

from dataclasses import replace

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.fas import health as service
from csm_emulator.services.fas.actions.api import Actions
from csm_emulator.services.fas.actions.loop import Control
from csm_emulator.services.fas.actions.operations import Launching
from csm_emulator.services.fas.actions.planner import Planning, Survey
from csm_emulator.services.fas.actions.records import Records
from csm_emulator.services.fas.controllers import Controllers
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.images.loader import Loader
from csm_emulator.services.fas.snapshots import Snapshots
from csm_emulator.transport.call import Call
from csm_emulator.transport.routes import EmulatedService, Route

PREFIX = "/v1"


def create_service(context: Context) -> EmulatedService:
    controllers, firmware, records = Controllers(context, HsmClient(context.mesh)), Firmware(context), Records(context)
    images = Images(context, firmware.devices)
    survey = Survey(controllers, firmware)
    planning = Planning(context, records, images, survey, firmware)
    control = Control(context, records, Launching(context, records, images, firmware, controllers))
    planning.ready = control.wake
    loader = Loader(context, images)

    def restarted() -> None:
        loader.restarted()
        control.restarted()

    # In FAS's own order: whether a wrong method is 404 or 405 depends on it.
    registered = [
        Route("GET", "/", service.index),
        *Actions(records, images, planning, control).routes(),
        *service.routes(controllers),
        *images.routes(),
        *Snapshots(context, images, survey, firmware, planning).routes(),
        *loader.routes(),
    ]
    mux = Mux(registered)
    routes = settle(registered)
    return EmulatedService(
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
