"""Reads the requests of the administration API, and makes its replies and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from csm_emulator.records import Json
from csm_emulator.services.keycloak.responses import NO_CACHE, SECURITY_HEADERS, json_reply
from csm_emulator.transport.call import JSON, Call, Reply

Item = TypeVar("Item")

NO_CONTENT = Reply(204, headers=SECURITY_HEADERS)
_UNPARSED = "Cannot parse the JSON"
_BROKE = "For more on this error consult the server log."


@dataclass(frozen=True)
class Denied(Exception):
    """``error`` is Keycloak's own text, or with a ``description`` an OAuth error; ``field`` names it in the reply."""

    status: int
    error: str
    description: str = ""
    field: str = "error"

    def answer(self) -> Reply:
        more = {"error_description": self.description} if self.description else {}
        return json_reply({self.field: self.error, **more}, self.status)


def json_view(value: Json) -> Reply:
    return json_reply(value, headers=NO_CACHE, media="application/json;charset=UTF-8")


def flag(call: Call, name: str, *, default: bool) -> bool:
    return call.first(name).lower() == "true" if call.has(name) else default


def page_of(call: Call, entries: Sequence[Item], default_limit: int | None = None) -> Sequence[Item]:
    """The entries from ``first`` on, at most ``max``. A number below 0 counts as absent."""
    first, requested = whole_number(call, "first"), whole_number(call, "max")
    start = max(first or 0, 0)
    limit = default_limit if requested is None else requested
    return entries[start:] if limit is None or limit < 0 else entries[start : start + limit]


def whole_number(call: Call, name: str) -> int | None:
    try:
        return int(call.first(name)) if call.has(name) else None
    except ValueError as error:
        raise Denied(404, "HTTP 404 Not Found") from error


def body_of(call: Call, kind: type[Item]) -> Item:
    if call.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Denied(415, "The content-type header value did not match the value in @Consumes")
    try:
        document = call.json() if call.body else None
    except (ValueError, RecursionError) as error:
        raise Denied(400, "invalid_request", _UNPARSED) from error
    if document is None:
        raise internal_error()
    if not isinstance(document, kind):
        raise wrong_form()
    return document


def wrong_form() -> Denied:
    """The error for JSON of another form."""
    return Denied(400, "unknown_error", _UNPARSED)


def internal_error() -> Denied:
    """The error where the real Keycloak fails with an exception."""
    return Denied(500, "unknown_error", _BROKE)
