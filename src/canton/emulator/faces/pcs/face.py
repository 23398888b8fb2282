"""All of PCS, on its paths: each of them also without ``/v1``, as the real one has it."""

from __future__ import annotations

from canton.emulator.faces.pcs.cap_tasks import CapTasks
from canton.emulator.faces.pcs.hsm import Hsm
from canton.emulator.faces.pcs.polling import Polling
from canton.emulator.faces.pcs.power_cap import PowerCap
from canton.emulator.faces.pcs.power_status import PowerStatus
from canton.emulator.faces.pcs.problems import Refusal, problem
from canton.emulator.faces.pcs.records import Records
from canton.emulator.faces.pcs.service import Service, index
from canton.emulator.faces.pcs.transitions import Transitions
from canton.emulator.faces.pcs.worker import Worker
from canton.emulator.wire.gorilla import Mux, settle
from canton.emulator.wire.routes import Face, Handler, Route, catching
from canton.emulator.world import World


def open_face(world: World) -> Face:
    hsm = Hsm(world.mesh)
    store = Records(world)
    polling = Polling(world)
    worker = Worker(world, store, polling)
    caps = CapTasks(world, store, hsm)
    # In PCS's own order: whether a wrong method is 404 or 405 depends on it.
    registered = (
        Route("GET", "/", index),
        *Transitions(store, worker).routes(),
        *PowerStatus(world.machine, polling).routes(),
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

    return Face(
        "pcs",
        [("/apis/power-control", "")],
        settle(routes),
        mux.not_found,
        mux.wrong_method,
        restarted=restarted,
    )


def _answering(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: problem(refusal))
