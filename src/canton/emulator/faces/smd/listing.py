"""A list of components as it goes over the wire, whole or some fields of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canton.emulator.faces.smd import forms
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
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def only_in_query(call: Call) -> str:
    return next((name for name in ONLY if (forms.values(call, name) or [""])[0] in _TRUE), "")


def only_in_body(given: Json) -> str:
    return next((name for name in ONLY if given[name]), "")


def unreadable(call: Call) -> bool:
    """Go refuses a semicolon in a query; we see it decoded, so one that was written as %3B is refused as well."""
    return any(";" in name or ";" in value for name, value in call.query)


def listed(hsm: Hsm, xnames: Sequence[str], only: str = "") -> Reply:
    if not only:
        return written(f'{{"Components":[{hsm.components.texts(xnames)}]}}')
    fields = ONLY[only]
    return written(
        go_json(
            {
                "Components": [
                    {name: record[name] for name in fields if name in record}
                    for record in map(hsm.components.__getitem__, xnames)
                ]
            }
        )
    )
