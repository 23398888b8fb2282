"""All of BOS on its paths."""

from __future__ import annotations

from collections.abc import Callable

from canton.emulator.faces.bos import service
from canton.emulator.faces.bos.applystaged import ApplyStaged
from canton.emulator.faces.bos.boot_sets import BootSets
from canton.emulator.faces.bos.bos import Bos, open_bos
from canton.emulator.faces.bos.components import Components
from canton.emulator.faces.bos.operators.cleanup import ActualStateCleanup, SessionCleanup
from canton.emulator.faces.bos.operators.configuration import Configuration
from canton.emulator.faces.bos.operators.discovery import Discovery
from canton.emulator.faces.bos.operators.power_off import PowerOffForceful, PowerOffGraceful
from canton.emulator.faces.bos.operators.power_on import PowerOn
from canton.emulator.faces.bos.operators.rhythm import Rhythm
from canton.emulator.faces.bos.operators.session_completion import SessionCompletion
from canton.emulator.faces.bos.operators.session_setup import SessionSetup
from canton.emulator.faces.bos.operators.status import Status
from canton.emulator.faces.bos.sessions import Sessions
from canton.emulator.faces.bos.templates import Templates
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.connexion import answering, not_found, wrong_method
from canton.emulator.wire.routes import Face, Handler, Route
from canton.emulator.world import World

OPTIONS = "/v2/options"
BODY = 8 << 20
"""Room for every component of a machine of 10,000 nodes."""


def open_face(world: World) -> Face:
    bos = open_bos(world)
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
    return Face(
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
