"""The routes of FAS: each at the root of the service and below ``/v1``, since HPE's document lists both."""

from __future__ import annotations

from dataclasses import replace

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.fas import health
from csm_emulator.services.fas.actions.api import Actions
from csm_emulator.services.fas.actions.loop import ActionLoop
from csm_emulator.services.fas.actions.operations import OperationRunner
from csm_emulator.services.fas.actions.planner import ActionPlanner, FirmwareSurvey
from csm_emulator.services.fas.actions.records import ActionStore
from csm_emulator.services.fas.controllers import Controllers
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.images.loader import Loader
from csm_emulator.services.fas.snapshots import Snapshots
from csm_emulator.transport.call import Call
from csm_emulator.transport.routes import EmulatedService, Route

PREFIX = "/v1"


def create_service(context: Context) -> EmulatedService:
    controllers, firmware, records = (
        Controllers(context, HsmClient(context.mesh)),
        Firmware(context),
        ActionStore(context),
    )
    images = Images(context, firmware.devices)
    survey = FirmwareSurvey(controllers, firmware)
    planner = ActionPlanner(context, records, images, survey, firmware)
    loop = ActionLoop(context, records, OperationRunner(context, records, images, firmware, controllers))
    planner.ready = loop.wake
    loader = Loader(context, images)

    def restarted() -> None:
        loader.restarted()
        loop.restarted()

    # In the order of FAS, on which it depends whether a wrong method is 404 or 405.
    registered = [
        Route("GET", "/", health.index),
        *Actions(records, images, planner, loop).routes(),
        *health.routes(controllers),
        *images.routes(),
        *Snapshots(context, images, survey, firmware, planner).routes(),
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
    """The call without the prefix, which HPE's gateway removes before FAS gets it."""
    return replace(call, path=call.path.removeprefix(PREFIX)) if call.path.startswith(f"{PREFIX}/") else call
