"""The body of a PATCH of a session, which HPE's file does not describe and the service looks at by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csm_emulator.dialects.connexion import Refused, bad_request
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import Stumble
from csm_emulator.transport.call import Call

_DEEPEST = 100
_UNREADABLE = "400 Bad Request: The browser (or proxy) sent a request that this server could not understand."


def read_patch(call: Call, translate: Callable[[Record], Record]) -> tuple[Record, list[Any]]:
    """Fields of ``status.session``, and artifacts; raises ``Refused`` or ``Stumble``."""
    data = _read(call)
    try:
        strange = any(key != "status" for key in data)
    except TypeError as error:
        raise Refused(bad_request(str(error))) from error
    if strange:
        raise Refused(bad_request("Only status can be updated after session creation"))
    status = _dict(translate(_dict(data)).get("status", {}))
    artifacts = status.get("artifacts", [])
    if not isinstance(artifacts, list):
        raise Stumble
    return _dict(status.get("session", {})), artifacts


def _read(call: Call) -> Json:
    media = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise Refused(bad_request(_UNREADABLE))
    try:
        value = call.json()
    except (ValueError, RecursionError) as error:
        raise Refused(bad_request(_UNREADABLE)) from error
    if _is_deep(value, _DEEPEST):
        raise Stumble
    return value


def _is_deep(value: Json, left: int) -> bool:
    """Nobody else looks at what is in it, and what is too deep could not be written again."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left == 0 or any(_is_deep(each, left - 1) for each in inner)


def _dict(value: Json) -> Record:
    if not isinstance(value, dict):
        raise Stumble
    return value
