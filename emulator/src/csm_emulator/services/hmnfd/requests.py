"""What a subscription's body may be, and the words for what it may not."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import Struct
from csm_emulator.dialects.hms.responses import problem
from csm_emulator.records import Json
from csm_emulator.services.hmnfd.parameters import as_map, lowered
from csm_emulator.services.hmnfd.subscription import BODY
from csm_emulator.transport.call import Reply

_TRIGGERS = ("States", "SoftwareStatus", "Roles", "SubRoles")


def read(body: bytes, instance: str) -> Json | Reply:
    """Everything is put in small letters first, URLs too."""
    try:
        return decode(lowered(body), BODY)
    except DecodeError:
        return type_complaint(body, BODY, instance)


def type_complaint(body: bytes, kind: Struct, instance: str) -> Reply:
    try:
        found = as_map(body)
    except DecodeError:
        return invalid("Error unmarshalling JSON payload", instance)
    return invalid("".join(_complaint(name, found.get(name.lower())) for name in kind.fields), instance)


def _complaint(name: str, value: Json) -> str:
    """Few are looked at; SubRoles is always wrong, for Go takes no ``[]interface{}`` for a ``[]string``."""
    if value is None:
        return ""
    if name == "SubRoles":
        return "Invalid data type in SubRoles array field. "
    checked = {"Subscriber": str, "Url": str, "Enabled": bool}
    if name in checked and not isinstance(value, checked[name]):
        return f"Invalid data type in {name} field. "
    return ""


def missing(wanted: Json) -> str:
    """What a subscription lacks; empty when nothing."""
    if not wanted["Components"]:
        return "Subscription request missing Components array field."
    if not wanted["Url"]:
        return "Subscription request missing Url field."
    if wanted["Enabled"] is None and not any(wanted[name] for name in _TRIGGERS):
        return "Subscription request needs at least one of: States, SoftwareStatus, Roles, SubRoles."
    return ""


def missing_in_v1(wanted: Json) -> str:
    if not wanted["Subscriber"]:
        return "Subscription request missing Subscriber field."
    if wanted["Subscriber"].count("@") > 1:
        return "Subscription request Subscriber field has invalid format."
    return missing(wanted)


def invalid(detail: str, instance: str) -> Reply:
    return problem(400, "Invalid Request", detail, instance)
