"""Queries of components by NID, and of components under a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import NUMBER, RAW, STRING, STRINGS, slice_of, struct
from csm_emulator.dialects.hms.names import normal
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.components.filters import Arguments
from csm_emulator.services.smd.components.lists import (
    FIELDS_IN_BODY,
    components_reply,
    only_in_body,
    only_in_query,
    query_is_undecodable,
)
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, error_reply, with_error_replies
from csm_emulator.services.smd.hardware.numbering import lineage
from csm_emulator.services.smd.responses import json_text_reply, no_content, problem
from csm_emulator.services.smd.sql_patterns import is_pattern, like
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/State/Components"
IDS = struct("main.CompQueryIn", {"ComponentIDs": STRINGS})
NIDS = struct("main.NIDQueryIn", {"NIDRanges": STRINGS})
EVERYTHING = frozenset({"s0", "all"})
_BAD_PARAMETER = "bad query param: "


def routes(hsm: Hsm) -> Sequence[Route]:
    return (
        Route("PATCH", f"{BASE}/BulkNID", with_error_replies(partial(_patch_nids, hsm))),
        Route("GET", f"{BASE}/ByNID/{{nid}}", partial(_get_by_nid, hsm)),
        Route("POST", f"{BASE}/ByNID/Query", with_error_replies(partial(_query_by_nid, hsm))),
        Route("POST", f"{BASE}/Query", with_error_replies(partial(_query, hsm))),
        Route("GET", f"{BASE}/Query/{{xname}}", partial(_query_one, hsm)),
    )


def _get_by_nid(hsm: Hsm, call: Call) -> Reply:
    text = call.args["nid"]
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or abs(int(text)) >= 1 << 63:
        return problem(400, filters.NOT_AN_INTEGER)
    if int(text) < 0:
        return problem(400, "An argument was out of range")
    xnames = hsm.components.with_nid(int(text))
    return json_text_reply(hsm.components.text(xnames[0])) if xnames else problem(404, "no such NID.")


def _query_by_nid(hsm: Hsm, call: Call) -> Reply:
    ranges = decode(call.body, NIDS)["NIDRanges"]
    if not ranges:
        return problem(400, "Missing NID ranges")
    arguments = decode(call.body, filters.IN_BODY)
    only = only_in_body(decode(call.body, FIELDS_IN_BODY))
    try:
        return components_reply(hsm, filters.select(hsm, {**arguments, **_nid_arguments(ranges)}), only)
    except (HmsError, DatabaseError) as error:
        return error_reply(error, _BAD_PARAMETER)


def _nid_arguments(ranges: Sequence[str]) -> Arguments:
    """``5`` and ``5-10``; of ``1-2-3`` SMD takes the first and the last."""
    pairs = [text.split("-") for text in ranges if "-" in text]
    if not all(pair[0] and pair[-1] for pair in pairs):
        raise HmsError("Argument was not a valid NID Range")
    return {
        "nid_start": [pair[0] for pair in pairs],
        "nid_end": [pair[-1] for pair in pairs],
        "nid": [text for text in ranges if text and "-" not in text],
    }


def _query(hsm: Hsm, call: Call) -> Reply:
    xnames = decode(call.body, IDS)["ComponentIDs"]
    if not xnames:
        return problem(400, "Missing IDs")
    arguments = decode(call.body, filters.IN_BODY)
    only = only_in_body(decode(call.body, FIELDS_IN_BODY))
    return _query_reply(hsm, xnames, arguments, only)


def _query_one(hsm: Hsm, call: Call) -> Reply:
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    return _query_reply(hsm, [normal(call.args["xname"])], filters.in_query(call), only_in_query(call))


def _query_reply(hsm: Hsm, xnames: Sequence[str], arguments: Arguments, only: str) -> Reply:
    """With a type filter, the components at or under these places; without one, these components alone."""
    try:
        if EVERYTHING.intersection(xnames):
            matches = filters.select(hsm, arguments)
        else:
            names = _checked_names([normal(xname) for xname in xnames])
            matches = filters.select(hsm, arguments, _places_under(hsm, names) if arguments.get("type") else names)
    except (HmsError, DatabaseError) as error:
        return error_reply(error, _BAD_PARAMETER)
    return components_reply(hsm, matches, only)


def _checked_names(names: Sequence[str]) -> Sequence[str]:
    if any("\0" in name for name in names):
        raise DatabaseError
    return names


def _places_under(hsm: Hsm, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        # SQL's SIMILAR TO: of its special characters, only % and _ are supported here.
        if is_pattern(name):
            matches = like(name).fullmatch
            yield from (xname for xname in hsm.components if any(map(matches, lineage(xname))))
        else:
            yield from hsm.components.under(name)


BULK_NID = struct(
    "main.componentArrayIn",
    {
        "Components": slice_of(struct("base.Component", {"ID": STRING, "NID": NUMBER})),
        "ExtendedInfo": RAW,
    },
)


def _patch_nids(hsm: Hsm, call: Call) -> Reply:
    components = decode(call.body, BULK_NID)["Components"]
    if not components or not components[0]["ID"]:
        return problem(400, "Missing Components")
    nids: dict[str, int] = {}
    for component in components:
        xname = normal(component["ID"])
        if xname in nids:
            continue
        nid = int64(component["NID"])
        if nid is None:
            failed = "operation 'Bulk Update NID' failed: "
            return problem(400, f"{failed}NID value missing.  Use NID < 0 to unset.")
        nids[xname] = max(nid, -1)
    return _set_nids(hsm, nids)


def _set_nids(hsm: Hsm, nids: dict[str, int]) -> Reply:
    if any("\0" in xname for xname in nids):
        return error_reply(DatabaseError())
    for xname, nid in nids.items():
        if hsm.has_component(xname):
            hsm.put_component({**hsm.components[xname], "NID": nid})
    return no_content()


def int64(number: Json) -> int | None:
    """A ``json.Number`` as Go converts it to an int64; None when it does not fit."""
    return number if isinstance(number, int) and abs(number) < 1 << 63 else None
