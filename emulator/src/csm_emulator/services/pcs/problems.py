"""PCS's error replies (RFC 7807), its JSON, and its UUID parser."""

from __future__ import annotations

import re
from http import HTTPStatus
from uuid import UUID

from csm_emulator.records import Json
from csm_emulator.transport.call import Reply, json_reply

_HEX = "[0-9a-fA-F]"
_PLAIN = re.compile(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}")
_BARE = re.compile(f"{_HEX}{{32}}")


class Refusal(Exception):
    """The reply is a problem with this status and detail."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def problem(refusal: Refusal) -> Reply:
    body = {
        "type": "about:blank",
        "detail": refusal.detail,
        "status": refusal.status,
        "title": HTTPStatus(refusal.status).phrase,
    }
    return marshalled(body, refusal.status, "application/problem+json")


def marshalled(
    value: Json, status: int = 200, media: str = "application/json", headers: tuple[tuple[str, str], ...] = ()
) -> Reply:
    """``json.Marshal``, without the newline of Go's encoder."""
    reply = json_reply(value, status, media, headers)
    return Reply(reply.status, reply.body.rstrip(b"\n"), reply.media, reply.headers)


def read_uuid(text: str) -> str:
    """``uuid.Parse`` of google/uuid: it accepts four forms. Raises ``Refusal`` with the text of its error."""
    plain = text
    if len(text.encode()) == 45:
        if text[:9].lower() != "urn:uuid:":
            raise Refusal(400, f'invalid urn prefix: "{text[:9]}"')
        plain = text[9:]
    elif len(text.encode()) == 38:
        plain = text[1:-1]
    elif len(text.encode()) not in (32, 36):
        raise Refusal(400, f"invalid UUID length: {len(text.encode())}")
    if not (_BARE if len(plain) == 32 else _PLAIN).fullmatch(plain):
        raise Refusal(400, "invalid UUID format")
    return str(UUID(plain))
