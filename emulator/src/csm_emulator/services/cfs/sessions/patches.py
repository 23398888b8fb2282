"""The body of a PATCH of a session, which HPE's OpenAPI file does not describe and the service checks itself."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.connexion import Refused, bad_request
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.transport.call import Call

_MAX_DEPTH = 100
_UNREADABLE = "400 Bad Request: The browser (or proxy) sent a request that this server could not understand."


def read_patch(call: Call, translate: Callable[[Record], Record]) -> tuple[Record, list[Json]]:
    """The fields of ``status.session`` and the artifacts; raises ``Refused`` or ``UncaughtError``."""
    data = _read(call)
    try:
        has_other_fields = any(key != "status" for key in data)
    except TypeError as error:
        raise Refused(bad_request(str(error))) from error
    if has_other_fields:
        raise Refused(bad_request("Only status can be updated after session creation"))
    status = _dict(translate(_dict(data)).get("status", {}))
    artifacts = status.get("artifacts", [])
    if not isinstance(artifacts, list):
        raise UncaughtError
    return _dict(status.get("session", {})), artifacts


def _read(call: Call) -> Json:
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        raise Refused(bad_request(_UNREADABLE))
    try:
        value = call.json()
    except (ValueError, RecursionError) as error:
        raise Refused(bad_request(_UNREADABLE)) from error
    if _is_deep(value, _MAX_DEPTH):
        raise UncaughtError
    return value


def _is_deep(value: Json, levels: int) -> bool:
    """Whether the value nests more than ``left`` levels, so that it could not be written as JSON again."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deep(item, levels - 1) for item in inner)


def _dict(value: Json) -> Record:
    if not isinstance(value, dict):
        raise UncaughtError
    return value
