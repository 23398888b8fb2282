"""All of PCS, on its paths: each of them also without ``/v1``, as the real one has it."""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.pcs.health import Service, index
from csm_emulator.services.pcs.hsm_answers import HsmInventory
from csm_emulator.services.pcs.power_caps.api import PowerCap
from csm_emulator.services.pcs.power_caps.tasks import CapTasks
from csm_emulator.services.pcs.power_status.api import PowerStatus
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.problems import Refusal, problem
from csm_emulator.services.pcs.transitions.api import Transitions
from csm_emulator.services.pcs.transitions.records import Records
from csm_emulator.services.pcs.transitions.worker import Worker
from csm_emulator.transport.routes import EmulatedService, Handler, Route, catching


def create_service(context: Context) -> EmulatedService:
    hsm = HsmClient(context.mesh)
    store = Records(context)
    polling = Polling(context, hsm)
    worker = Worker(context, store, polling, hsm)
    caps = CapTasks(context, store, HsmInventory(hsm))
    # In PCS's own order: whether a wrong method is 404 or 405 depends on it.
    registered = (
        Route("GET", "/", index),
        *Transitions(store, worker).routes(),
        *PowerStatus(context.machine, polling).routes(),
        *PowerCap(caps).routes(),
        *Service(hsm).routes(),
    )
    routes = [
        Route(route.method, prefix + route.path, _answering(route.handler))
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


def _answering(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: problem(refusal))
