"""FAS's replies and errors, and the forms of UUIDs and times in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from uuid import UUID

from csm_emulator.dialects.hms.responses import PROBLEM, marshalled
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler, catching

NIL = str(UUID(int=0))
_EARLIEST, _LATEST = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 and 9999, the limits of ``datetime``."""
_HEX = re.compile("[0-9a-fA-F]{32}")
_DASHED = re.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


class RequestFailed(Exception):
    """The reply is a problem with this status and detail."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def with_problems(handler: Handler) -> Handler:
    return catching(handler, RequestFailed, lambda _, failed: problem(failed.status, failed.detail))


def answer(value: Json, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return marshalled(value, status, headers=headers)


def problem(status: int, detail: str) -> Reply:
    fields = {"type": "about:blank", "detail": detail, "status": status, "title": HTTPStatus(status).phrase}
    return marshalled({name: value for name, value in fields.items() if value}, status, PROBLEM)


def parse_uuid(text: str) -> str:
    """As ``uuid.Parse`` of google/uuid. Raises ``ValueError`` with the text of its error."""
    size = len(text.encode("utf-8", "replace"))
    if size == 32 and _HEX.fullmatch(text):
        return str(UUID(text))
    if size == 45:
        if text[:9].lower() != "urn:uuid:":
            raise ValueError(f'invalid urn prefix: "{text[:9]}"')
        text = text[9:]
    elif size == 38:
        text = text[1:-1]
    elif size not in (32, 36):
        raise ValueError(f"invalid UUID length: {size}")
    if not _DASHED.fullmatch(text):
        raise ValueError("invalid UUID format")
    return text.lower()


def uuid_from(call: Call, name: str) -> str:
    try:
        return parse_uuid(call.args[name])
    except ValueError as error:
        raise RequestFailed(400, str(error)) from error


def go_time(moment: float | None) -> str:
    """As Go's ``Time.String`` prints a time; empty for None."""
    if moment is None:
        return ""
    moment = min(max(moment, _EARLIEST), _LATEST)
    fraction = f"{moment % 1:.6f}"[2:].rstrip("0")
    whole = datetime.fromtimestamp(int(moment // 1), UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{whole}{'.' + fraction if fraction else ''} +0000 UTC"


def without_empty(fields: Json) -> Json:
    """The fields without empty values."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], 0, False)}
