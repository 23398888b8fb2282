"""The reply with a list of components, with all of their fields or some of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from csm_emulator.dialects.go_json.types import BOOL, struct
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.smd import query_parameters
from csm_emulator.services.smd.components.table import visible_fields
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.responses import json_text_reply
from csm_emulator.transport.call import Call, Reply

FIELD_SELECTIONS: Mapping[str, tuple[str, ...]] = {
    "stateonly": ("ID", "Type", "State", "Flag"),
    "flagonly": ("ID", "Type", "Flag"),
    "roleonly": ("ID", "Type", "Role", "SubRole"),
    "nidonly": ("ID", "Type", "NID"),
}
"""Parameter → the fields that it selects. Of several parameters the first counts."""
FIELDS_IN_BODY = struct("main.FieldFltrIn", dict.fromkeys(FIELD_SELECTIONS, BOOL))
_UNDECODABLE = re.compile("[;]|%(?![0-9a-fA-F]{2})")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def only_in_query(call: Call) -> str:
    return next((name for name in FIELD_SELECTIONS if (query_parameters.values(call, name) or [""])[0] in _TRUE), "")


def only_in_body(body: Json) -> str:
    return next((name for name in FIELD_SELECTIONS if body[name]), "")


def query_is_undecodable(call: Call) -> bool:
    """Whether Go rejects the query: it allows no bare semicolon or percent sign. CSM's services send neither."""
    return _UNDECODABLE.search(call.target.partition("?")[2]) is not None


def components_reply(hsm: Hsm, xnames: Sequence[str], only: str = "") -> Reply:
    if not only:
        return json_text_reply(f'{{"Components":[{hsm.components.texts(xnames)}]}}')
    records = map(hsm.components.records.__getitem__, xnames)
    return json_text_reply(
        marshal({"Components": [visible_fields(record, FIELD_SELECTIONS[only]) for record in records]})
    )
