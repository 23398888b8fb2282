"""``/memberships``: the groups and the partition of each component."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.components.lists import query_is_undecodable
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, error_reply
from csm_emulator.services.smd.responses import json_reply, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/memberships"


def routes(hsm: Hsm) -> Sequence[Route]:
    return (
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("GET", f"{BASE}/{{xname}}", partial(_get, hsm)),
    )


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    try:
        xnames = filters.select(hsm, filters.in_query(call))
    except (HmsError, DatabaseError) as error:
        return error_reply(error, "bad query param: ")
    return json_reply(_memberships(hsm, xnames))


def _get(hsm: Hsm, call: Call) -> Reply:
    xname = verified(call.args["xname"])
    if not xname:
        return problem(400, "invalid xname")
    if not hsm.has_component(xname):
        return problem(404, f"No such xname: {xname}")
    return json_reply(_memberships(hsm, [xname])[0])


def _memberships(hsm: Hsm, xnames: Iterable[str]) -> list[Json]:
    memberships: dict[str, Json] = {xname: {"id": xname, "groupLabels": [], "partitionName": ""} for xname in xnames}
    for label in hsm.groups:
        for xname in _common(memberships, hsm.members(hsm.groups, label)):
            memberships[xname]["groupLabels"].append(label)
    for name in hsm.partitions:
        for xname in _common(memberships, hsm.members(hsm.partitions, name)):
            memberships[xname]["partitionName"] = name
    return list(memberships.values())


def _common(first: Collection[str], second: Collection[str]) -> list[str]:
    smaller, larger = (first, second) if len(first) < len(second) else (second, first)
    return [xname for xname in smaller if xname in larger]
