"""A list of components as it goes over the wire, whole or some fields of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from canton.emulator.faces.smd import forms
from canton.emulator.faces.smd.component_table import shown
from canton.emulator.faces.smd.decoding import BOOL, struct
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.problems import go_json, written
from canton.emulator.wire.call import Call, Json, Reply

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
    """Go refuses a bare semicolon or percent sign in a query. We see it decoded: %3B and %25 may be refused as well."""
    return any(_ODD.search(text) for pair in call.query for text in pair)


def listed(hsm: Hsm, xnames: Sequence[str], only: str = "") -> Reply:
    if not only:
        return written(f'{{"Components":[{hsm.components.texts(xnames)}]}}')
    records = map(hsm.components.records.__getitem__, xnames)
    return written(go_json({"Components": [shown(record, ONLY[only]) for record in records]}))
