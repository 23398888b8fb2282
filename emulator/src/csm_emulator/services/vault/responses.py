"""How Vault answers: an envelope around everything, and a list of errors."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply, json_reply

PERMISSION_DENIED = "permission denied"
NO_STORE = (("Cache-Control", "no-store"), ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"))


class Refusal(Exception):
    """Becomes the answer; nothing is said of what is not there."""

    def __init__(self, status: int, *errors: str) -> None:
        super().__init__(*errors)
        self.status = status
        self.errors = errors


def refused(refusal: Refusal) -> Reply:
    return json_reply({"errors": list(refusal.errors)}, refusal.status, headers=NO_STORE)


def nothing() -> Reply:
    return Reply(204, headers=NO_STORE)


def enveloped(request: str, data: Json = None, auth: Json = None, status: int = 200, **beside: Json) -> Reply:
    """``beside`` stands next to the data, where the eldest paths of Vault have it as well."""
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
    return json_reply({**body, **beside}, status, headers=NO_STORE)


def read(call: Call) -> dict[str, Any]:
    """The body, which may be left out."""
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
    """JSON has no NaN; Python reads it all the same."""
    raise ValueError(word)


def text(body: dict[str, Any], name: str, default: str = "") -> str:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Refusal(400, f"error converting input for field {name!r}")
    return str(value)


def whole(body: dict[str, Any], name: str, default: int = 0) -> int:
    value = body.get(name)
    if value is None:
        return default
    try:
        return int(value if isinstance(value, str | int) and not isinstance(value, bool) else "")
    except ValueError as error:
        raise Refusal(400, f"error converting input for field {name!r}") from error


def seconds(value: Json) -> int:
    """A duration, as a number or as Go writes it, ``1h``, ``30m``."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value[:12])
    if isinstance(value, str) and value[:-1].isascii() and value[:-1].isdecimal() and value[-1:] in units:
        return int(value[:-1][:12]) * units[value[-1]]
    raise Refusal(400, f"error parsing duration {value!r}")
