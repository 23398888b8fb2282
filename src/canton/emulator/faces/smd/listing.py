"""A list of components as it goes over the wire, whole or some fields of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from canton.emulator.faces.smd import forms
from canton.emulator.faces.smd.component_table import shown
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.problems import written
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.go_kinds import BOOL, struct
from canton.emulator.wire.hms_base import marshal

ONLY: Mapping[str, tuple[str, ...]] = {
    "stateonly": ("ID", "Type", "State", "Flag"),
    "flagonly": ("ID", "Type", "Flag"),
    "roleonly": ("ID", "Type", "Role", "SubRole"),
    "nidonly": ("ID", "Type", "NID"),
}
"""Of several the first counts."""
FIELDS_IN_BODY = struct("main.FieldFltrIn", dict.fromkeys(ONLY, BOOL))
_ODD = re.compile("[;]|%(?![0-9a-fA-F]{2})")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def only_in_query(call: Call) -> str:
    return next((name for name in ONLY if (forms.values(call, name) or [""])[0] in _TRUE), "")


def only_in_body(given: Json) -> str:
    return next((name for name in ONLY if given[name]), "")


def unreadable(call: Call) -> bool:
    """Go refuses a bare semicolon or percent sign in a query. Services inside the cluster write neither."""
    return _ODD.search(call.target.partition("?")[2]) is not None


def listed(hsm: Hsm, xnames: Sequence[str], only: str = "") -> Reply:
    if not only:
        return written(f'{{"Components":[{hsm.components.texts(xnames)}]}}')
    records = map(hsm.components.records.__getitem__, xnames)
    return written(marshal({"Components": [shown(record, ONLY[only]) for record in records]}))
