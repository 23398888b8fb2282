"""Which components are meant: the query parameters of the collections, and the same fields in bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from csm_emulator.dialects.go_json.types import STRINGS, struct
from csm_emulator.dialects.hms import names as hms_names
from csm_emulator.records import Record
from csm_emulator.services.smd import enums as vocabulary
from csm_emulator.services.smd import query_parameters as forms
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal
from csm_emulator.transport.call import Call

Arguments = Mapping[str, Sequence[str] | None]
"""Parameter → its values; None when it was not given."""
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
_MOST = (1 << 63) - 1
_GROUP = re.compile(r"[-a-z0-9:._]+")
_NO_NID = -1


def in_query(call: Call) -> Arguments:
    return {name: forms.values(call, name) or None for name in PARAMETERS}


def _switch(text: str) -> str:
    return {"true": "1", "t": "1", "1": "1", "false": "0", "f": "0", "0": "0"}.get(text.lower(), "")


def _nid(text: str) -> str:
    return str(_NO_NID) if text == "" else text if text.isnumeric() else ""


def _alphanumeric(text: str) -> str:
    return text if all(letter.isalpha() or letter.isnumeric() for letter in text) else ""


def _group(text: str) -> str:
    return text if text == "NULL" or _GROUP.fullmatch(text) else ""


Spelling = Callable[[str], str]
_WORD = {
    "state": partial(vocabulary.spelled, vocabulary.STATE),
    "flag": partial(vocabulary.spelled, vocabulary.FLAG),
    "role": partial(vocabulary.spelled, vocabulary.ROLE),
    "subrole": partial(vocabulary.spelled, vocabulary.SUB_ROLE),
    "arch": partial(vocabulary.spelled, vocabulary.ARCH),
    "class": partial(vocabulary.spelled, vocabulary.CLASS),
}
_CHECKS: Sequence[tuple[str, Spelling, bool, str]] = (
    ("id", hms_names.verified, False, "Argument was not a valid xname ID"),
    ("type", partial(vocabulary.spelled, vocabulary.TYPE), True, "Argument was not a valid HMS Type"),
    ("state", _WORD["state"], False, "Argument was not a valid HMS State"),
    ("flag", _WORD["flag"], False, "Argument was not a valid HMS Flag"),
    ("enabled", _switch, False, "a required argument did not match any valid input"),
    ("role", _WORD["role"], True, "Argument was not a valid HMS Role"),
    ("subrole", _WORD["subrole"], True, "Argument was not a valid HMS SubRole"),
    ("subtype", _alphanumeric, True, "Argument was not a valid HMS Subtype"),
    ("arch", _WORD["arch"], True, "Argument was not a valid HMS Arch"),
    ("class", _WORD["class"], True, "Argument was not a valid HMS Class"),
    ("nid", _nid, True, NOT_AN_INTEGER),
    ("nid_start", _nid, False, NOT_AN_INTEGER),
    ("nid_end", _nid, False, NOT_AN_INTEGER),
)
"""(parameter, its spelling or nothing, whether it may be empty, what is said when it is none), in SMD's order."""
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


def select(hsm: Hsm, given: Arguments, among: Iterable[str] | None = None) -> list[str]:
    """The xnames that fit, of all or of ``among``; raises ``Refusal`` or ``DatabaseError``."""
    wanted = _checked(given)
    tests = [*_column_tests(wanted), *_switch_tests(wanted), *_nid_tests(wanted), *_member_tests(hsm, wanted)]
    records = hsm.components.records
    some, none = _split(wanted["id"])
    named = _named(hsm, some, wanted)
    found = _both(named, among, records)
    if none:
        found = [xname for xname in found if xname not in none]
    for test in tests:
        found = [xname for xname in found if test(records[xname])]
    return found


def _named(hsm: Hsm, xnames: Sequence[str], wanted: Mapping[str, list[str]]) -> Iterable[str] | None:
    """The components that the query names, by xname or by NID; None when it names none."""
    if xnames:
        return xnames
    ranges, nids = wanted["nid_start"] or wanted["nid_end"], wanted["nid"]
    # Components without a NID are in no index, and -1 and ! mean such.
    if not nids or ranges or not all(text.isascii() and text.isdigit() for text in nids):
        return None
    return [xname for nid in nids for xname in hsm.components.with_nid(int(nid))]


def _both(named: Iterable[str] | None, among: Iterable[str] | None, records: Mapping[str, Record]) -> list[str]:
    if named is None or among is None:
        only = named if among is None else among
        return list(records) if only is None else [xname for xname in dict.fromkeys(only) if xname in records]
    others = frozenset(among)
    return [xname for xname in dict.fromkeys(named) if xname in records and xname in others]


def _checked(given: Arguments) -> dict[str, list[str]]:
    wanted = {name: list(given.get(name) or ()) for name in PARAMETERS}
    for name, spelling, may_be_empty, complaint in _CHECKS:
        wanted[name] = [_spelled(text, spelling, complaint, may_be_empty=may_be_empty) for text in wanted[name]]
    for name, complaint in (("group", "no such group"), ("partition", "no such partition")):
        if not all(map(_group, wanted[name])):
            raise Refusal(complaint)
    return wanted


def _spelled(text: str, spelling: Spelling, complaint: str, *, may_be_empty: bool) -> str:
    bare = text.lstrip("!")
    found = spelling(bare)
    if not found and (bare or not may_be_empty):
        raise Refusal(complaint)
    return "!" + found if text.startswith("!") else found


def _split(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those that are wanted, and those that are not."""
    some: list[str] = []
    none: list[str] = []
    for text in texts:
        (none if text.startswith("!") else some).append(text.lstrip("!"))
    return some, none


def _column_tests(wanted: Mapping[str, list[str]]) -> Iterable[Test]:
    for name, field in _COLUMNS.items():
        if any("\0" in text for text in wanted[name]):
            raise DatabaseError
        if wanted[name]:
            yield _among(field, *map(frozenset, _split(wanted[name])))


def _among(field: str, some: frozenset[str], none: frozenset[str]) -> Test:
    if not none:
        return lambda record: record.get(field, "") in some
    return lambda record: (not some or record.get(field, "") in some) and record.get(field, "") not in none


def _switch_tests(wanted: Mapping[str, list[str]]) -> Iterable[Test]:
    for name, field in (("enabled", "Enabled"), ("reservation_disabled", "ReservationDisabled"), ("locked", "Locked")):
        if wanted[name]:
            some, none = ({_boolean(text) for text in texts} for texts in _split(wanted[name]))
            yield partial(_switched, field, some, none)


def _switched(field: str, some: set[bool], none: set[bool], record: Record) -> bool:
    value = record.get(field, False)
    return (not some or value in some) and value not in none


def _boolean(text: str) -> bool:
    """What PostgreSQL reads as one."""
    bare = text.strip(" \t\n\r\f\v").lower()
    for word, value in (("true", True), ("false", False), ("yes", True), ("no", False)):
        if bare and word.startswith(bare):
            return value
    known = {"on": True, "off": False, "of": False, "1": True, "0": False}
    if bare not in known:
        raise DatabaseError
    return known[bare]


def _nid_tests(wanted: Mapping[str, list[str]]) -> Iterable[Test]:
    starts, ends, nids = wanted["nid_start"], wanted["nid_end"], wanted["nid"]
    if starts or ends:
        yield _in_ranges(list(map(_bigint, starts)), list(map(_bigint, ends)), frozenset(map(_bigint, nids)))
    elif nids:
        some, none = (frozenset(map(_bigint, texts)) for texts in _split(nids))
        yield lambda record: (not some or record.get("NID", _NO_NID) in some) and record.get("NID", _NO_NID) not in none


def _in_ranges(starts: Sequence[int], ends: Sequence[int], nids: frozenset[int]) -> Test:
    """Starts and ends by pairs; an end without a start begins at 0, a start without an end goes on for ever."""
    pairs = list(zip(starts, ends, strict=False))
    pairs += [(start, _MOST) for start in starts[len(ends) :]]
    pairs += [(-_MOST if starts else 0, end) for end in ends[len(starts) :]]

    def within(record: Record) -> bool:
        nid = record.get("NID", _NO_NID)
        return (nid in nids and (bool(starts) or nid >= 0)) or any(low <= nid <= high for low, high in pairs)

    return within


def _bigint(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", text) or int(text) > _MOST:
        raise DatabaseError
    return int(text)


def _member_tests(hsm: Hsm, wanted: Mapping[str, list[str]]) -> Iterable[Test]:
    groups, partitions = wanted["group"], wanted["partition"]
    _check_memberships(groups, partitions)
    for arguments, table in ((groups, hsm.groups), (partitions, hsm.partitions)):
        if arguments:
            nobody = arguments == ["NULL"]
            named = table if nobody else arguments
            members = {xname for name in named if name in table for xname in table[name]["members"]["ids"]}
            yield partial(_is_member, members, not nobody)


def _is_member(members: set[str], inside: bool, record: Record) -> bool:
    return (record["ID"] in members) is inside


def _check_memberships(groups: Sequence[str], partitions: Sequence[str]) -> None:
    if groups and partitions and len(groups) + len(partitions) > 2:
        raise Refusal("group and partition cannot both have more than one value")
    if list(partitions) == ["NULL"] and groups and groups[0] != "NULL":
        raise Refusal("NULL partition and non-NULL group arg not permitted")
    if list(groups) == ["NULL"] and partitions and list(partitions) != ["NULL"]:
        raise Refusal("NULL group and non-NULL partition arg not permitted")
    if len(groups) > 1 and "NULL" in groups:
        raise Refusal("NULL and non-NULL group arguments not permitted")
    if len(partitions) > 1 and "NULL" in partitions:
        # Spelled so by SMD.
        raise Refusal("NULL and non-NULL partrition arguments not permitted")
