"""Validation of the body of a subscription, with HMNFD's error messages."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import Struct
from csm_emulator.dialects.hms.responses import problem
from csm_emulator.records import Json
from csm_emulator.services.hmnfd.parameters import lower_case, lower_case_fields
from csm_emulator.services.hmnfd.subscription import BODY
from csm_emulator.transport.call import Reply

_TRIGGERS = ("States", "SoftwareStatus", "Roles", "SubRoles")


def read_subscription(body: bytes, instance: str) -> Json | Reply:
    """The subscription or an error reply. HMNFD converts the whole body to lower case first, URLs too."""
    try:
        return decode(lower_case(body), BODY)
    except DecodeError:
        return type_error(body, BODY, instance)


def type_error(body: bytes, kind: Struct, instance: str) -> Reply:
    try:
        fields = lower_case_fields(body)
    except DecodeError:
        return invalid("Error unmarshalling JSON payload", instance)
    return invalid("".join(_field_error(name, fields.get(name.lower())) for name in kind.fields), instance)


def _field_error(name: str, value: Json) -> str:
    """The error of one field. Few are checked; SubRoles always fails: Go's ``[]interface{}`` is no ``[]string``."""
    if value is None:
        return ""
    if name == "SubRoles":
        return "Invalid data type in SubRoles array field. "
    expected_types = {"Subscriber": str, "Url": str, "Enabled": bool}
    if name in expected_types and not isinstance(value, expected_types[name]):
        return f"Invalid data type in {name} field. "
    return ""


def missing_field(subscription: Json) -> str:
    """The error about a missing field; empty when the subscription is complete."""
    if not subscription["Components"]:
        return "Subscription request missing Components array field."
    if not subscription["Url"]:
        return "Subscription request missing Url field."
    if subscription["Enabled"] is None and not any(subscription[name] for name in _TRIGGERS):
        return "Subscription request needs at least one of: States, SoftwareStatus, Roles, SubRoles."
    return ""


def missing_field_in_v1(subscription: Json) -> str:
    if not subscription["Subscriber"]:
        return "Subscription request missing Subscriber field."
    if subscription["Subscriber"].count("@") > 1:
        return "Subscription request Subscriber field has invalid format."
    return missing_field(subscription)


def invalid(detail: str, instance: str) -> Reply:
    return problem(400, "Invalid Request", detail, instance)
