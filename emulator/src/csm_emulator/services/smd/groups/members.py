"""What groups and partitions have in common: labels, tags, and members that are components."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from csm_emulator.dialects.go_json.types import STRING, STRINGS, pointer_to, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, fits, refused
from csm_emulator.services.smd.responses import problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Reply

MEMBERS = struct("sm.Members", {"ids": STRINGS})
MEMBER = struct("sm.MemberAddBody", {"id": STRING})
PATCHED = {"description": pointer_to(STRING), "tags": pointer_to(STRINGS)}
NOBODY = "NULL"
"""The partition of those that are in none."""
WIDTH = 255
_FIELD = re.compile(r"[-a-z0-9:._]+")
_BAD_FIELD = "group or partition field has invalid characters"


class Conflict(Exception):
    """Somebody is there already."""


def is_field(text: str) -> bool:
    """Whether a label, tag or name, in lower case, has no other signs than it may."""
    return _FIELD.fullmatch(text) is not None


def check_fields(texts: Iterable[str]) -> None:
    if not all(map(is_field, texts)):
        raise Refusal(_BAD_FIELD)


def check_members(ids: Iterable[str]) -> None:
    if not all(map(hms_names.hms_type, ids)):
        raise Refusal("got HMSTypeInvalid instead of valid type")


def lowered(texts: Iterable[str] | None) -> list[str]:
    return [text.lower() for text in texts or ()]


def check_new(hsm: Hsm, ids: Sequence[str], present: Iterable[str], elsewhere: frozenset[str], where: str) -> None:
    """In the order in which the database notices: twice here, here and elsewhere, not there at all."""
    seen = set(present)
    for xname in ids:
        if xname in seen:
            raise Conflict("")
        if xname in elsewhere:
            raise Conflict(where)
        seen.add(xname)
    fits(*((xname, 63) for xname in ids))
    if not all(map(hsm.known, ids)):
        raise Refusal("linked component does not exist")


def tagged(record: Json, tags: Sequence[str]) -> bool:
    return not tags or not set(tags).isdisjoint(record["tags"])


def patch(table: RecordTable, name: str, given: Json) -> None:
    """Description and tags, of which None stays as it is."""
    record = {**table[name]}
    if given["description"] is not None:
        fits((given["description"], WIDTH))
        record["description"] = given["description"]
    if given["tags"] is not None:
        record["tags"] = lowered(given["tags"])
        fits(*((tag, WIDTH) for tag in record["tags"]))
    table[name] = record


def patch_reply(table: RecordTable, name: str, given: Json, earlier: bytes, missing: str) -> Reply:
    """SMD goes on after it complained of an empty patch, and its later words follow the first: ``earlier``."""
    reply = _patched(table, name, given, missing)
    if not earlier:
        return reply
    return Reply(400, earlier + (b"" if reply.status == 204 else reply.body), "application/problem+json")


def _patched(table: RecordTable, name: str, given: Json, missing: str) -> Reply:
    if not all(map(is_field, lowered(given["tags"]))):
        return problem(400, "Invalid tag.")
    if name not in table:
        return problem(404, missing)
    try:
        patch(table, name, given)
    except DatabaseError as error:
        return refused(error)
    return Reply(204, b"", "application/json")


def empty_patch(given: Json) -> bytes:
    if given["description"] is None and given["tags"] is None:
        return problem(400, "Request must have at least one patch field.").body
    return b""
