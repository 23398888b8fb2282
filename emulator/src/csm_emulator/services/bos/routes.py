"""All endpoints of BOS."""

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
from csm_emulator.services.bos.operators.power_off import PowerOffForceful, PowerOffGraceful
from csm_emulator.services.bos.operators.power_on import PowerOn
from csm_emulator.services.bos.operators.schedule import OperatorSchedule
from csm_emulator.services.bos.operators.session_completion import SessionCompletion
from csm_emulator.services.bos.operators.session_setup import SessionSetup
from csm_emulator.services.bos.operators.status import Status
from csm_emulator.services.bos.sessions.api import Sessions
from csm_emulator.services.bos.sessions.boot_sets import BootSets
from csm_emulator.services.bos.sessions.templates import Templates
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route

OPTIONS = "/v2/options"
BODY_LIMIT = 8 << 20
"""Largest request body in bytes: enough for every component of a machine with 10,000 nodes."""


def create_service(context: Context) -> EmulatedService:
    bos = open_bos(context)
    discovery = Discovery(bos)
    schedule = _open_operators(bos, discovery)
    boot_sets = BootSets(bos.options, bos.images, bos.neighbours)
    resources = (
        bos.options,
        Templates(bos.templates, boot_sets, bos.tenants),
        Sessions(bos, boot_sets),
        Components(bos.components, bos.auto, bos.tenants, discovery.catch_up),
        ApplyStaged(bos),
    )
    routes = [*service.routes(), *(route for resource in resources for route in resource.routes())]
    return EmulatedService(
        "bos",
        [("/apis/bos", "")],
        [_scheduling_operators(route, schedule) for route in routes],
        not_found=not_found,
        wrong_method=wrong_method,
        body_limit=BODY_LIMIT,
    )


def _open_operators(bos: Bos, discovery: Discovery) -> OperatorSchedule:
    status = Status(bos)
    return OperatorSchedule(
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


def _scheduling_operators(route: Route, schedule: OperatorSchedule) -> Route:
    """The route, which schedules operators after every write, since a write may give them work."""
    wrapped = route.through(answering)
    if route.method == "GET":
        return wrapped
    follow_up = schedule.reschedule_all if route.path == OPTIONS else schedule.schedule_new_work
    return wrapped.through(lambda handler: _followed_by(handler, follow_up))


def _followed_by(handler: Handler, follow_up: Callable[[], None]) -> Handler:
    def handle(call: Call) -> Reply:
        reply = handler(call)
        follow_up()
        return reply

    return handle
