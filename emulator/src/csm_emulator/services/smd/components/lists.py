"""A list of components as it goes over the wire, whole or some fields of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from csm_emulator.dialects.go_json.types import BOOL, struct
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.smd import query_parameters as forms
from csm_emulator.services.smd.components.table import shown
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.responses import written
from csm_emulator.transport.call import Call, Reply

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
