"""The routes of PCS: each with and without ``/v1``, as in the real service."""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.pcs.health import Health, index
from csm_emulator.services.pcs.hsm_answers import HsmInventory
from csm_emulator.services.pcs.power_caps.api import PowerCap
from csm_emulator.services.pcs.power_caps.tasks import CapTasks
from csm_emulator.services.pcs.power_status.api import PowerStatus
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.problems import Refusal, problem
from csm_emulator.services.pcs.transitions.api import Transitions
from csm_emulator.services.pcs.transitions.records import TransitionStore
from csm_emulator.services.pcs.transitions.worker import Worker
from csm_emulator.transport.routes import EmulatedService, Handler, Route, catching


def create_service(context: Context) -> EmulatedService:
    hsm = HsmClient(context.mesh)
    store = TransitionStore(context)
    polling = Polling(context, hsm)
    worker = Worker(context, store, polling, hsm)
    caps = CapTasks(context, store, HsmInventory(hsm))
    # In the order of PCS, on which it depends whether a wrong method is 404 or 405.
    registered = (
        Route("GET", "/", index),
        *Transitions(store, worker).routes(),
        *PowerStatus(context.machine, polling).routes(),
        *PowerCap(caps).routes(),
        *Health(hsm).routes(),
    )
    routes = [
        Route(route.method, prefix + route.path, _with_problems(route.handler))
        for route in registered
        for prefix in ("", "/v1")
    ]
    mux = Mux(routes)

    def restarted() -> None:
        polling.restart()
        worker.restart()

    return EmulatedService(
        "pcs",
        [("/apis/power-control", "")],
        settle(routes),
        mux.not_found,
        mux.wrong_method,
        restarted=restarted,
    )


def _with_problems(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: problem(refusal))
