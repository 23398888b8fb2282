"""What the administration is asked, and how it answers and refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from csm_emulator.records import Json
from csm_emulator.services.keycloak.responses import NO_CACHE, SAFE, json_answer
from csm_emulator.transport.call import JSON, Call, Reply

Item = TypeVar("Item")

DONE = Reply(204, headers=SAFE)
_UNPARSED = "Cannot parse the JSON"
_BROKE = "For more on this error consult the server log."


@dataclass(frozen=True)
class Denied(Exception):
    """``error`` is Keycloak's own word; with a ``description`` it is OAuth's, and ``field`` is where it stands."""

    status: int
    error: str
    description: str = ""
    field: str = "error"

    def answer(self) -> Reply:
        more = {"error_description": self.description} if self.description else {}
        return json_answer({self.field: self.error, **more}, self.status)


def shown(value: Json) -> Reply:
    return json_answer(value, headers=NO_CACHE, media="application/json;charset=UTF-8")


def flag(call: Call, name: str, *, default: bool) -> bool:
    return call.first(name).lower() == "true" if call.has(name) else default


def cut(call: Call, found: Sequence[Item], most: int | None = None) -> Sequence[Item]:
    """From ``first`` on, ``max`` of them; what is below 0 counts as not said."""
    first, wanted = whole(call, "first"), whole(call, "max")
    start = max(first or 0, 0)
    limit = most if wanted is None else wanted
    return found[start:] if limit is None or limit < 0 else found[start : start + limit]


def whole(call: Call, name: str) -> int | None:
    try:
        return int(call.first(name)) if call.has(name) else None
    except ValueError as error:
        raise Denied(404, "HTTP 404 Not Found") from error


def body_of(call: Call, kind: type[Item]) -> Item:
    if call.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Denied(415, "The content-type header value did not match the value in @Consumes")
    try:
        found = call.json() if call.body else None
    except (ValueError, RecursionError) as error:
        raise Denied(400, "invalid_request", _UNPARSED) from error
    if found is None:
        raise broken()
    if not isinstance(found, kind):
        raise unparsed()
    return found


def unparsed() -> Denied:
    """JSON of another shape."""
    return Denied(400, "unknown_error", _UNPARSED)


def broken() -> Denied:
    """Where the real one stumbles."""
    return Denied(500, "unknown_error", _BROKE)
