"""Components by NID, and those under others."""

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
    listed,
    only_in_body,
    only_in_query,
    unreadable,
)
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, answering, refused
from csm_emulator.services.smd.hardware.numbering import lineage
from csm_emulator.services.smd.responses import nothing, problem, written
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
        Route("PATCH", f"{BASE}/BulkNID", answering(partial(_patch_nids, hsm))),
        Route("GET", f"{BASE}/ByNID/{{nid}}", partial(_get_by_nid, hsm)),
        Route("POST", f"{BASE}/ByNID/Query", answering(partial(_query_by_nid, hsm))),
        Route("POST", f"{BASE}/Query", answering(partial(_query, hsm))),
        Route("GET", f"{BASE}/Query/{{xname}}", partial(_query_one, hsm)),
    )


def _get_by_nid(hsm: Hsm, call: Call) -> Reply:
    text = call.args["nid"]
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or abs(int(text)) >= 1 << 63:
        return problem(400, filters.NOT_AN_INTEGER)
    if int(text) < 0:
        return problem(400, "An argument was out of range")
    found = hsm.components.with_nid(int(text))
    return written(hsm.components.text(found[0])) if found else problem(404, "no such NID.")


def _query_by_nid(hsm: Hsm, call: Call) -> Reply:
    ranges = decode(call.body, NIDS)["NIDRanges"]
    if not ranges:
        return problem(400, "Missing NID ranges")
    given = decode(call.body, filters.IN_BODY)
    only = only_in_body(decode(call.body, FIELDS_IN_BODY))
    try:
        return listed(hsm, filters.select(hsm, {**given, **_by_nid(ranges)}), only)
    except (Refusal, DatabaseError) as error:
        return refused(error, _BAD_PARAMETER)


def _by_nid(ranges: Sequence[str]) -> Arguments:
    """``5`` and ``5-10``; of ``1-2-3`` SMD takes the first and the last."""
    pairs = [text.split("-") for text in ranges if "-" in text]
    if not all(pair[0] and pair[-1] for pair in pairs):
        raise Refusal("Argument was not a valid NID Range")
    return {
        "nid_start": [pair[0] for pair in pairs],
        "nid_end": [pair[-1] for pair in pairs],
        "nid": [text for text in ranges if text and "-" not in text],
    }


def _query(hsm: Hsm, call: Call) -> Reply:
    xnames = decode(call.body, IDS)["ComponentIDs"]
    if not xnames:
        return problem(400, "Missing IDs")
    given = decode(call.body, filters.IN_BODY)
    only = only_in_body(decode(call.body, FIELDS_IN_BODY))
    return _under(hsm, xnames, given, only)


def _query_one(hsm: Hsm, call: Call) -> Reply:
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    return _under(hsm, [normal(call.args["xname"])], filters.in_query(call), only_in_query(call))


def _under(hsm: Hsm, xnames: Sequence[str], given: Arguments, only: str) -> Reply:
    """With a type, all that lie under these; without one, these alone."""
    try:
        if EVERYTHING.intersection(xnames):
            found = filters.select(hsm, given)
        else:
            names = _storable([normal(xname) for xname in xnames])
            found = filters.select(hsm, given, _lying_under(hsm, names) if given.get("type") else names)
    except (Refusal, DatabaseError) as error:
        return refused(error, _BAD_PARAMETER)
    return listed(hsm, found, only)


def _storable(names: Sequence[str]) -> Sequence[str]:
    if any("\0" in name for name in names):
        raise DatabaseError
    return names


def _lying_under(hsm: Hsm, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        # SQL's SIMILAR TO: of its signs, only % and _ come in names that people might ask for.
        if is_pattern(name):
            fits = like(name).fullmatch
            yield from (xname for xname in hsm.components if any(map(fits, lineage(xname))))
        else:
            yield from hsm.components.under(name)


NID_OF_EACH = struct(
    "main.componentArrayIn",
    {
        "Components": slice_of(struct("base.Component", {"ID": STRING, "NID": NUMBER})),
        "ExtendedInfo": RAW,
    },
)


def _patch_nids(hsm: Hsm, call: Call) -> Reply:
    each = decode(call.body, NID_OF_EACH)["Components"]
    if not each or not each[0]["ID"]:
        return problem(400, "Missing Components")
    nids: dict[str, int] = {}
    for component in each:
        xname = normal(component["ID"])
        if xname in nids:
            continue
        nid = whole(component["NID"])
        if nid is None:
            failed = "operation 'Bulk Update NID' failed: "
            return problem(400, f"{failed}NID value missing.  Use NID < 0 to unset.")
        nids[xname] = max(nid, -1)
    return _set_nids(hsm, nids)


def _set_nids(hsm: Hsm, nids: dict[str, int]) -> Reply:
    if any("\0" in xname for xname in nids):
        return refused(DatabaseError())
    for xname, nid in nids.items():
        if hsm.known(xname):
            hsm.put_component({**hsm.components[xname], "NID": nid})
    return nothing()


def whole(number: Json) -> int | None:
    """A ``json.Number`` as Go makes an int64 of it; None when it cannot."""
    return number if isinstance(number, int) and abs(number) < 1 << 63 else None
