"""Reads Vault's requests, and makes its replies: the envelope around data, and the list of errors."""

from __future__ import annotations

import json

from csm_emulator.records import Json, Record
from csm_emulator.transport.call import Call, Reply, json_reply

PERMISSION_DENIED = "permission denied"
NO_STORE = (("Cache-Control", "no-store"), ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"))


class Refusal(Exception):
    """The reply has this status and these errors; for a missing object the list of errors is empty."""

    def __init__(self, status: int, *errors: str) -> None:
        super().__init__(*errors)
        self.status = status
        self.errors = errors


def error_reply(refusal: Refusal) -> Reply:
    return json_reply({"errors": list(refusal.errors)}, refusal.status, headers=NO_STORE)


def no_content() -> Reply:
    return Reply(204, headers=NO_STORE)


def envelope(request: str, data: Json = None, auth: Json = None, status: int = 200, **extra_fields: Json) -> Reply:
    """``extra_fields`` are beside the data, where Vault's oldest paths repeat it."""
    body = {
        "request_id": request,
        "lease_id": "",
        "renewable": False,
        "lease_duration": 0,
        "data": data,
        "wrap_info": None,
        "warnings": None,
        "auth": auth,
    }
    return json_reply({**body, **extra_fields}, status, headers=NO_STORE)


def read(call: Call) -> Record:
    """The body; an empty one is ``{}``."""
    if not call.body.strip():
        return {}
    try:
        body = json.loads(call.body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "failed to parse JSON input: invalid request") from error
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise Refusal(
            400, "failed to parse JSON input: json: cannot unmarshal into Go value of type map[string]interface {}"
        )
    return body


def _no_number(word: str) -> Json:
    """Refuses NaN, which Python reads and JSON does not have."""
    raise ValueError(word)


def text(body: Record, name: str, default: str = "") -> str:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Refusal(400, f"error converting input for field {name!r}")
    return str(value)


def whole_number(body: Record, name: str, default: int = 0) -> int:
    value = body.get(name)
    if value is None:
        return default
    try:
        return int(value if isinstance(value, str | int) and not isinstance(value, bool) else "")
    except ValueError as error:
        raise Refusal(400, f"error converting input for field {name!r}") from error


def seconds(value: Json) -> int:
    """A duration in seconds, from a number or from Go's form ``1h``, ``30m``."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value[:12])
    if isinstance(value, str) and value[:-1].isascii() and value[:-1].isdecimal() and value[-1:] in units:
        return int(value[:-1][:12]) * units[value[-1]]
    raise Refusal(400, f"error parsing duration {value!r}")
