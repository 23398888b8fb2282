"""All of VNID, on its paths."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.context import Context
from csm_emulator.services.vnid.health import Status
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.partitions import Partitions
from csm_emulator.services.vnid.performance import Performance
from csm_emulator.services.vnid.problems import Refusal, problem
from csm_emulator.services.vnid.table import Book
from csm_emulator.services.vnid.vnis import Vnis
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, catching


def create_service(context: Context) -> EmulatedService:
    book = Book(context.tables)
    jobs = Jobs(context, book)
    performance = Performance(context.tables)
    rooms = (
        Partitions(book, jobs),
        Vnis(book, jobs, performance),
        jobs,
        Status(context.tables, book, jobs),
        performance,
    )
    routes = [route.through(_answering) for room in rooms for route in room.routes()]
    return EmulatedService("vnid", [("/apis/vnid", "")], routes, not_found=_not_found, wrong_method=_wrong_method)


def _answering(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: problem(refusal.status, str(refusal)))


def _not_found(call: Call) -> Reply:
    return problem(404, f"No such resource {call.path}")


def _wrong_method(call: Call, allowed: Sequence[str]) -> Reply:
    refused = problem(405, f"Method {call.method} is not allowed")
    return Reply(refused.status, refused.body, refused.media, (("Allow", ", ".join(allowed)),))
