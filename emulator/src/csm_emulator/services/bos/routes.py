"""All of BOS on its paths."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.context import Context
from csm_emulator.dialects.connexion import answering, not_found, wrong_method
from csm_emulator.services.bos import health as service
from csm_emulator.services.bos.components.api import Components
from csm_emulator.services.bos.components.applystaged import ApplyStaged
from csm_emulator.services.bos.context import Bos, open_bos
from csm_emulator.services.bos.operators.cleanup import ActualStateCleanup, SessionCleanup
from csm_emulator.services.bos.operators.configuration import Configuration
from csm_emulator.services.bos.operators.discovery import Discovery
from csm_emulator.services.bos.operators.intervals import Rhythm
from csm_emulator.services.bos.operators.power_off import PowerOffForceful, PowerOffGraceful
from csm_emulator.services.bos.operators.power_on import PowerOn
from csm_emulator.services.bos.operators.session_completion import SessionCompletion
from csm_emulator.services.bos.operators.session_setup import SessionSetup
from csm_emulator.services.bos.operators.status import Status
from csm_emulator.services.bos.sessions.api import Sessions
from csm_emulator.services.bos.sessions.boot_sets import BootSets
from csm_emulator.services.bos.sessions.templates import Templates
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route

OPTIONS = "/v2/options"
BODY = 8 << 20
"""Room for every component of a machine of 10,000 nodes."""


def create_service(context: Context) -> EmulatedService:
    bos = open_bos(context)
    discovery = Discovery(bos)
    rhythm = _open_operators(bos, discovery)
    boot_sets = BootSets(bos.options, bos.images, bos.neighbours)
    rooms = (
        bos.options,
        Templates(bos.templates, boot_sets, bos.tenants),
        Sessions(bos, boot_sets),
        Components(bos.components, bos.auto, bos.tenants, discovery.catch_up),
        ApplyStaged(bos),
    )
    routes = [*service.routes(), *(route for room in rooms for route in room.routes())]
    return EmulatedService(
        "bos",
        [("/apis/bos", "")],
        [_stirring(route, rhythm) for route in routes],
        not_found=not_found,
        wrong_method=wrong_method,
        body_limit=BODY,
    )


def _open_operators(bos: Bos, discovery: Discovery) -> Rhythm:
    status = Status(bos)
    return Rhythm(
        bos,
        (
            discovery,
            status,
            Configuration(bos, status),
            PowerOn(bos),
            PowerOffGraceful(bos),
            PowerOffForceful(bos),
            SessionSetup(bos),
            SessionCompletion(bos),
            SessionCleanup(bos),
            ActualStateCleanup(bos),
        ),
    )


def _stirring(route: Route, rhythm: Rhythm) -> Route:
    """What is written may be work for an operator."""
    answered = route.through(answering)
    if route.method == "GET":
        return answered
    after = rhythm.plan_anew if route.path == OPTIONS else rhythm.stir
    return answered.through(lambda handler: _then(handler, after))


def _then(handler: Handler, after: Callable[[], None]) -> Handler:
    def handle(call: Call) -> Reply:
        reply = handler(call)
        after()
        return reply

    return handle
