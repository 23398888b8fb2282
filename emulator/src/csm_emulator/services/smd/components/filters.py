"""Filters of components: the query parameters of the collections, and the same fields in bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from csm_emulator.dialects.go_json.types import STRINGS, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Record
from csm_emulator.services.smd import enums, query_parameters
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError
from csm_emulator.transport.call import Call

Arguments = Mapping[str, Sequence[str] | None]
"""Parameter → its values; None without the parameter."""
Test = Callable[[Record], bool]

PARAMETERS = (
    "id",
    "nid",
    "nid_start",
    "nid_end",
    "type",
    "state",
    "flag",
    "enabled",
    "softwarestatus",
    "role",
    "subrole",
    "subtype",
    "arch",
    "class",
    "group",
    "partition",
    "locked",
    "reservation_disabled",
)
IN_BODY = struct("hmsds.ComponentFilter", dict.fromkeys(PARAMETERS, STRINGS))
NOT_AN_INTEGER = "a required argument was not an integer"
_MAX_INT64 = (1 << 63) - 1
_GROUP = re.compile(r"[-a-z0-9:._]+")
_NO_NID = -1


def in_query(call: Call) -> Arguments:
    return {name: query_parameters.values(call, name) or None for name in PARAMETERS}


def _switch(text: str) -> str:
    return {"true": "1", "t": "1", "1": "1", "false": "0", "f": "0", "0": "0"}.get(text.lower(), "")


def _nid(text: str) -> str:
    return str(_NO_NID) if text == "" else text if text.isnumeric() else ""


def _alphanumeric(text: str) -> str:
    return text if all(letter.isalpha() or letter.isnumeric() for letter in text) else ""


def _group(text: str) -> str:
    return text if text == "NULL" or _GROUP.fullmatch(text) else ""


Spelling = Callable[[str], str]
_ENUM_SPELLINGS = {
    "state": partial(enums.spelled, enums.STATE),
    "flag": partial(enums.spelled, enums.FLAG),
    "role": partial(enums.spelled, enums.ROLE),
    "subrole": partial(enums.spelled, enums.SUB_ROLE),
    "arch": partial(enums.spelled, enums.ARCH),
    "class": partial(enums.spelled, enums.CLASS),
}
_CHECKS: Sequence[tuple[str, Spelling, bool, str]] = (
    ("id", hms_names.verified, False, "Argument was not a valid xname ID"),
    ("type", partial(enums.spelled, enums.TYPE), True, "Argument was not a valid HMS Type"),
    ("state", _ENUM_SPELLINGS["state"], False, "Argument was not a valid HMS State"),
    ("flag", _ENUM_SPELLINGS["flag"], False, "Argument was not a valid HMS Flag"),
    ("enabled", _switch, False, "a required argument did not match any valid input"),
    ("role", _ENUM_SPELLINGS["role"], True, "Argument was not a valid HMS Role"),
    ("subrole", _ENUM_SPELLINGS["subrole"], True, "Argument was not a valid HMS SubRole"),
    ("subtype", _alphanumeric, True, "Argument was not a valid HMS Subtype"),
    ("arch", _ENUM_SPELLINGS["arch"], True, "Argument was not a valid HMS Arch"),
    ("class", _ENUM_SPELLINGS["class"], True, "Argument was not a valid HMS Class"),
    ("nid", _nid, True, NOT_AN_INTEGER),
    ("nid_start", _nid, False, NOT_AN_INTEGER),
    ("nid_end", _nid, False, NOT_AN_INTEGER),
)
"""(parameter, function that spells its value, whether it may be empty, error message), in SMD's order."""
_COLUMNS = {
    "type": "Type",
    "state": "State",
    "flag": "Flag",
    "softwarestatus": "SoftwareStatus",
    "role": "Role",
    "subrole": "SubRole",
    "subtype": "Subtype",
    "arch": "Arch",
    "class": "Class",
}


def select(hsm: Hsm, arguments: Arguments, candidates: Iterable[str] | None = None) -> list[str]:
    """The matching xnames, of all components or of ``candidates``; raises ``HmsError`` or ``DatabaseError``."""
    filters = _validated(arguments)
    tests = [*_column_tests(filters), *_switch_tests(filters), *_nid_tests(filters), *_member_tests(hsm, filters)]
    records = hsm.components.records
    included_ids, excluded_ids = _split(filters["id"])
    indexed = _indexed(hsm, included_ids, filters)
    matches = _intersection(indexed, candidates, records)
    if excluded_ids:
        matches = [xname for xname in matches if xname not in excluded_ids]
    for test in tests:
        matches = [xname for xname in matches if test(records[xname])]
    return matches


def _indexed(hsm: Hsm, xnames: Sequence[str], filters: Mapping[str, list[str]]) -> Iterable[str] | None:
    """The components that the filters name by xname or by NID; None when they name none."""
    if xnames:
        return xnames
    ranges, nids = filters["nid_start"] or filters["nid_end"], filters["nid"]
    # Components without a NID are in no index, and -1 and exclusions may select them.
    if not nids or ranges or not all(text.isascii() and text.isdigit() for text in nids):
        return None
    return [xname for nid in nids for xname in hsm.components.with_nid(int(nid))]


def _intersection(
    indexed: Iterable[str] | None, candidates: Iterable[str] | None, records: Mapping[str, Record]
) -> list[str]:
    if indexed is None or candidates is None:
        only = indexed if candidates is None else candidates
        return list(records) if only is None else [xname for xname in dict.fromkeys(only) if xname in records]
    allowed = frozenset(candidates)
    return [xname for xname in dict.fromkeys(indexed) if xname in records and xname in allowed]


def _validated(arguments: Arguments) -> dict[str, list[str]]:
    filters = {name: list(arguments.get(name) or ()) for name in PARAMETERS}
    for name, spelling, may_be_empty, error in _CHECKS:
        filters[name] = [_spelled(text, spelling, error, may_be_empty=may_be_empty) for text in filters[name]]
    for name, error in (("group", "no such group"), ("partition", "no such partition")):
        if not all(map(_group, filters[name])):
            raise HmsError(error)
    return filters


def _spelled(text: str, spelling: Spelling, error: str, *, may_be_empty: bool) -> str:
    bare = text.lstrip("!")
    word = spelling(bare)
    if not word and (bare or not may_be_empty):
        raise HmsError(error)
    return "!" + word if text.startswith("!") else word


def _split(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The values to include, and those to exclude (``!value``)."""
    included: list[str] = []
    excluded: list[str] = []
    for text in texts:
        (excluded if text.startswith("!") else included).append(text.lstrip("!"))
    return included, excluded


def _column_tests(filters: Mapping[str, list[str]]) -> Iterable[Test]:
    for name, field in _COLUMNS.items():
        if any("\0" in text for text in filters[name]):
            raise DatabaseError
        if filters[name]:
            yield _column_test(field, *map(frozenset, _split(filters[name])))


def _column_test(field: str, included: frozenset[str], excluded: frozenset[str]) -> Test:
    if not excluded:
        return lambda record: record.get(field, "") in included
    return lambda record: (not included or record.get(field, "") in included) and record.get(field, "") not in excluded


def _switch_tests(filters: Mapping[str, list[str]]) -> Iterable[Test]:
    for name, field in (("enabled", "Enabled"), ("reservation_disabled", "ReservationDisabled"), ("locked", "Locked")):
        if filters[name]:
            included, excluded = ({_boolean(text) for text in texts} for texts in _split(filters[name]))
            yield partial(_switch_matches, field, included, excluded)


def _switch_matches(field: str, included: set[bool], excluded: set[bool], record: Record) -> bool:
    value = record.get(field, False)
    return (not included or value in included) and value not in excluded


def _boolean(text: str) -> bool:
    """The text as PostgreSQL reads a boolean; raises ``DatabaseError``."""
    bare = text.strip(" \t\n\r\f\v").lower()
    for word, value in (("true", True), ("false", False), ("yes", True), ("no", False)):
        if bare and word.startswith(bare):
            return value
    values = {"on": True, "off": False, "of": False, "1": True, "0": False}
    if bare not in values:
        raise DatabaseError
    return values[bare]


def _nid_tests(filters: Mapping[str, list[str]]) -> Iterable[Test]:
    starts, ends, nids = filters["nid_start"], filters["nid_end"], filters["nid"]
    if starts or ends:
        yield _in_ranges(list(map(_bigint, starts)), list(map(_bigint, ends)), frozenset(map(_bigint, nids)))
    elif nids:
        included, excluded = (frozenset(map(_bigint, texts)) for texts in _split(nids))
        yield (
            lambda record: (
                (not included or record.get("NID", _NO_NID) in included) and record.get("NID", _NO_NID) not in excluded
            )
        )


def _in_ranges(starts: Sequence[int], ends: Sequence[int], nids: frozenset[int]) -> Test:
    """Starts and ends form pairs; an end without a start begins at 0, a start without an end has no upper bound."""
    pairs = list(zip(starts, ends, strict=False))
    pairs += [(start, _MAX_INT64) for start in starts[len(ends) :]]
    pairs += [(-_MAX_INT64 if starts else 0, end) for end in ends[len(starts) :]]

    def within(record: Record) -> bool:
        nid = record.get("NID", _NO_NID)
        return (nid in nids and (bool(starts) or nid >= 0)) or any(low <= nid <= high for low, high in pairs)

    return within


def _bigint(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", text) or int(text) > _MAX_INT64:
        raise DatabaseError
    return int(text)


def _member_tests(hsm: Hsm, filters: Mapping[str, list[str]]) -> Iterable[Test]:
    groups, partitions = filters["group"], filters["partition"]
    _check_memberships(groups, partitions)
    for arguments, table in ((groups, hsm.groups), (partitions, hsm.partitions)):
        if arguments:
            without_any = arguments == ["NULL"]
            names = table if without_any else arguments
            members = {xname for name in names if name in table for xname in table[name]["members"]["ids"]}
            yield partial(_is_member, members, not without_any)


def _is_member(members: set[str], inside: bool, record: Record) -> bool:
    return (record["ID"] in members) is inside


def _check_memberships(groups: Sequence[str], partitions: Sequence[str]) -> None:
    if groups and partitions and len(groups) + len(partitions) > 2:
        raise HmsError("group and partition cannot both have more than one value")
    if list(partitions) == ["NULL"] and groups and groups[0] != "NULL":
        raise HmsError("NULL partition and non-NULL group arg not permitted")
    if list(groups) == ["NULL"] and partitions and list(partitions) != ["NULL"]:
        raise HmsError("NULL group and non-NULL partition arg not permitted")
    if len(groups) > 1 and "NULL" in groups:
        raise HmsError("NULL and non-NULL group arguments not permitted")
    if len(partitions) > 1 and "NULL" in partitions:
        # SMD's spelling.
        raise HmsError("NULL and non-NULL partrition arguments not permitted")
