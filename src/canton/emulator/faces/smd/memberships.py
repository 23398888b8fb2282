"""In which groups and in which partition a component is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from canton.emulator.faces.smd import filters
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.listing import unreadable
from canton.emulator.faces.smd.problems import answer, problem
from canton.emulator.faces.smd.refusals import DatabaseError, Refusal, refused
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.hms_names import verified
from canton.emulator.wire.routes import Route

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
