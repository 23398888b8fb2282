"""The replies of SMD: JSON, RFC 7807 problems, short messages, and links to created resources."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from csm_emulator.dialects.hms import responses as hms_base
from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Reply, utf8


def json_reply(value: Json, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return hms_base.encoded(value, status, headers=headers)


def json_text_reply(text: str) -> Reply:
    """A reply of JSON that is encoded already."""
    return Reply(200, utf8(text) + b"\n", JSON)


def problem(status: int, detail: str, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return hms_base.problem(status, HTTPStatus(status).phrase, detail, headers=headers)


def undecodable_body(error: Exception) -> Reply:
    """SMD answers 500, not 400, to JSON that it cannot read."""
    return problem(500, f"error decoding JSON {error}")


def message(text: str, status: int = 200) -> Reply:
    return json_reply({"code": 0, "message": text}, status)


def no_content() -> Reply:
    """A 204, with the Content-Type that SMD sends even so."""
    return Reply(204, b"", JSON)


def created(uri: str) -> Reply:
    return json_reply({"URI": uri}, 201, [("Location", uri)])


def all_created(collection: str, uris: Sequence[str]) -> Reply:
    if not uris:
        return no_content()
    location = uris[0] if len(uris) == 1 else collection
    return json_reply([{"URI": uri} for uri in uris], 201, [("Location", location)])
