"""Validation that groups and partitions share: labels, tags, and members, which are components."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from csm_emulator.dialects.go_json.types import STRING, STRINGS, pointer_to, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, check_widths, error_reply
from csm_emulator.services.smd.responses import problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Reply

MEMBERS = struct("sm.Members", {"ids": STRINGS})
MEMBER = struct("sm.MemberAddBody", {"id": STRING})
PATCH_FIELDS = {"description": pointer_to(STRING), "tags": pointer_to(STRINGS)}
NO_PARTITION = "NULL"
"""As a partition filter: the components that are in no partition."""
WIDTH = 255
_FIELD = re.compile(r"[-a-z0-9:._]+")
_BAD_FIELD = "group or partition field has invalid characters"


class DuplicateMember(Exception):
    """A component is a member already, here or where it conflicts; the text says where."""


def is_field(text: str) -> bool:
    """Whether a label, tag or name, in lower case, has only allowed characters."""
    return _FIELD.fullmatch(text) is not None


def check_fields(texts: Iterable[str]) -> None:
    if not all(map(is_field, texts)):
        raise HmsError(_BAD_FIELD)


def check_members(ids: Iterable[str]) -> None:
    if not all(map(hms_names.hms_type, ids)):
        raise HmsError("got HMSTypeInvalid instead of valid type")


def lowered(texts: Iterable[str] | None) -> list[str]:
    return [text.lower() for text in texts or ()]


def check_new(
    hsm: Hsm, ids: Sequence[str], existing: Iterable[str], conflicting: frozenset[str], conflict: str
) -> None:
    """Check new members in the order of the database: duplicate here, member elsewhere, no such component."""
    present_members = set(existing)
    for xname in ids:
        if xname in present_members:
            raise DuplicateMember("")
        if xname in conflicting:
            raise DuplicateMember(conflict)
        present_members.add(xname)
    check_widths(*((xname, 63) for xname in ids))
    if not all(map(hsm.has_component, ids)):
        raise HmsError("linked component does not exist")


def has_any_tag(record: Json, tags: Sequence[str]) -> bool:
    return not tags or not set(tags).isdisjoint(record["tags"])


def patch(table: RecordTable[Record], name: str, changes: Json) -> None:
    """Change description and tags; None leaves a field unchanged."""
    record = {**table[name]}
    if changes["description"] is not None:
        check_widths((changes["description"], WIDTH))
        record["description"] = changes["description"]
    if changes["tags"] is not None:
        record["tags"] = lowered(changes["tags"])
        check_widths(*((tag, WIDTH) for tag in record["tags"]))
    table[name] = record


def patch_reply(table: RecordTable[Record], name: str, changes: Json, first_error: bytes, not_found: str) -> Reply:
    """SMD continues after the error of an empty patch, ``first_error``, and appends the next body to it."""
    reply = _patched(table, name, changes, not_found)
    if not first_error:
        return reply
    return Reply(400, first_error + (b"" if reply.status == 204 else reply.body), "application/problem+json")


def _patched(table: RecordTable[Record], name: str, changes: Json, not_found: str) -> Reply:
    if not all(map(is_field, lowered(changes["tags"]))):
        return problem(400, "Invalid tag.")
    if name not in table:
        return problem(404, not_found)
    try:
        patch(table, name, changes)
    except DatabaseError as error:
        return error_reply(error)
    return Reply(204, b"", "application/json")


def empty_patch_error(changes: Json) -> bytes:
    if changes["description"] is None and changes["tags"] is None:
        return problem(400, "Request must have at least one patch field.").body
    return b""
