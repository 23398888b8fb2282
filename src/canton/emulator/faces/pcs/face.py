"""All of PCS, on its paths: each of them also without ``/v1``, as the real one has it."""

from __future__ import annotations

from canton.emulator.faces.pcs.cap_tasks import CapTasks
from canton.emulator.faces.pcs.hsm import Hsm
from canton.emulator.faces.pcs.polling import Polling
from canton.emulator.faces.pcs.power_cap import PowerCap
from canton.emulator.faces.pcs.power_status import PowerStatus
from canton.emulator.faces.pcs.problems import Refusal, problem
from canton.emulator.faces.pcs.records import Records
from canton.emulator.faces.pcs.service import Service
from canton.emulator.faces.pcs.transitions import Transitions
from canton.emulator.faces.pcs.worker import Worker
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.routes import Face, Handler, Route, catching, go_not_found
from canton.emulator.world import World


def open_face(world: World) -> Face:
    hsm = Hsm(world.mesh)
    store = Records(world)
    polling = Polling(world)
    worker = Worker(world, store, polling)
    caps = CapTasks(world, store, hsm)
    rooms = (
        Service(hsm),
        Transitions(store, worker),
        PowerStatus(world.machine, polling),
        PowerCap(caps),
    )
    routes = [
        Route(route.method, prefix + route.path, _answering(route.handler))
        for room in rooms
        for route in room.routes()
        for prefix in ("", "/v1")
    ]
    known = {route.path for route in routes if "{" not in route.path}

    def restarted() -> None:
        polling.restart()
        worker.restart()

    return Face(
        "pcs",
        [("/apis/power-control", "")],
        routes,
        not_found=lambda call: _not_found(call, known),
        restarted=restarted,
    )


def _answering(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: problem(refusal))


def _not_found(call: Call, known: set[str]) -> Reply:
    """gorilla's StrictSlash: a slash too many, or one too few, is put right by a redirect."""
    other = call.path[:-1] if call.path.endswith("/") else f"{call.path}/"
    if other not in known:
        return go_not_found(call)
    body = f'<a href="{other}">Moved Permanently</a>.\n\n' if call.method == "GET" else ""
    return Reply(301, body.encode(), "text/html; charset=utf-8" if body else "", (("Location", other),))
