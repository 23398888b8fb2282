"""The routes of VNID."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.context import Context
from csm_emulator.services.vnid.health import Status
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.partitions import Partitions
from csm_emulator.services.vnid.performance import Performance
from csm_emulator.services.vnid.problems import RequestRejected, problem
from csm_emulator.services.vnid.table import VniTable
from csm_emulator.services.vnid.vnis import Vnis
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, catching


def create_service(context: Context) -> EmulatedService:
    vni_table = VniTable(context.tables)
    jobs = Jobs(context, vni_table)
    performance = Performance(context.tables)
    parts = (
        Partitions(vni_table, jobs),
        Vnis(vni_table, jobs, performance),
        jobs,
        Status(context.tables, vni_table, jobs),
        performance,
    )
    routes = [route.through(_with_error_replies) for room in parts for route in room.routes()]
    return EmulatedService("vnid", [("/apis/vnid", "")], routes, not_found=_not_found, wrong_method=_wrong_method)


def _with_error_replies(handler: Handler) -> Handler:
    return catching(handler, RequestRejected, lambda _, refusal: problem(refusal.status, str(refusal)))


def _not_found(call: Call) -> Reply:
    return problem(404, f"No such resource {call.path}")


def _wrong_method(call: Call, allowed: Sequence[str]) -> Reply:
    reply = problem(405, f"Method {call.method} is not allowed")
    return Reply(reply.status, reply.body, reply.media, (("Allow", ", ".join(allowed)),))
