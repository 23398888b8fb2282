"""Problem documents of VNID, and validation of the fields of a body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from csm_emulator.records import Json, Record
from csm_emulator.transport.call import Call, Reply, json_reply

PROBLEM = "application/problem+json"
LONGEST_NAME = 255
_KINDS = {str: "a string", int: "an integer", bool: "a boolean", dict: "an object", list: "an array"}
Fields = Mapping[str, type]


class RequestRejected(Exception):
    """The request fails with this status and detail."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def problem(status: int, detail: str) -> Reply:
    return json_reply({"status": status, "detail": detail, "title": HTTPStatus(status).phrase}, status, PROBLEM)


def read_fields(call: Call, fields: Fields, required: str = "") -> Record:
    """The fields of the body, with their types checked; a null field counts as missing."""
    try:
        body = json.loads(call.body)
    except (ValueError, RecursionError) as error:
        raise RequestRejected(400, "The request body is not valid JSON") from error
    if not isinstance(body, dict):
        raise RequestRejected(400, "The request body is not an object")
    values = {name: body[name] for name in fields if body.get(name) is not None}
    for name, value in values.items():
        _check_type(name, value, fields[name])
    missing = next((name for name in required.split() if name not in values), None)
    if missing:
        raise RequestRejected(400, f"Missing required parameter {missing}")
    return values


def check_name(name: str, what: str) -> None:
    """Check that a name can be a segment of a path: it has no slash, and is neither ``.`` nor ``..``."""
    valid = name.isprintable() and "/" not in name and name not in ("", ".", "..") and len(name) <= LONGEST_NAME
    if not valid or name != name.strip():
        raise RequestRejected(400, f"Invalid {what} {name!r}")


def _check_type(name: str, value: Json, kind: type) -> None:
    # In Python a boolean is an integer.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestRejected(400, f"Parameter {name} must be {_KINDS[kind]}")
