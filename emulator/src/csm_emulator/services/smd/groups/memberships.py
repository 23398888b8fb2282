"""In which groups and in which partition a component is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.components.lists import unreadable
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, refused
from csm_emulator.services.smd.responses import answer, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/memberships"


def routes(hsm: Hsm) -> Sequence[Route]:
    return (
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("GET", f"{BASE}/{{xname}}", partial(_get, hsm)),
    )


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    try:
        found = filters.select(hsm, filters.in_query(call))
    except (Refusal, DatabaseError) as error:
        return refused(error, "bad query param: ")
    return answer(_memberships(hsm, found))


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = verified(call.args["xname"])
    if not xname:
        return problem(400, "invalid xname")
    if not hsm.known(xname):
        return problem(404, f"No such xname: {xname}")
    return answer(_memberships(hsm, [xname])[0])


def _memberships(hsm: Hsm, wanted: Iterable[str]) -> list[Json]:
    found: dict[str, Json] = {xname: {"id": xname, "groupLabels": [], "partitionName": ""} for xname in wanted}
    for label in hsm.groups:
        for xname in _common(found, hsm.members(hsm.groups, label)):
            found[xname]["groupLabels"].append(label)
    for name in hsm.partitions:
        for xname in _common(found, hsm.members(hsm.partitions, name)):
            found[xname]["partitionName"] = name
    return list(found.values())


def _common(one: Collection[str], other: Collection[str]) -> list[str]:
    few, many = (one, other) if len(one) < len(other) else (other, one)
    return [xname for xname in few if xname in many]
