"""What SMD sends: problems of RFC 7807, its own short messages, links to what was created."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from http import HTTPStatus

from canton.emulator.wire.call import JSON, Json, Reply

PROBLEM = "application/problem+json"
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_UNSAFE = re.compile("[<>&\u2028\u2029]")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_json(value: Json) -> str:
    """As Go's encoder writes it, without the newline: compact, and safe inside HTML."""
    text = _encode(value)
    return _UNSAFE.sub(lambda found: _ESCAPES[found[0]], text) if _UNSAFE.search(text) else text


def answer(value: Json, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return written(go_json(value), status, headers=headers)


def written(text: str, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """JSON that is text already."""
    return Reply(status, text.encode("utf-8", "replace") + b"\n", media, headers)


def problem(status: int, detail: str, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    fields: dict[str, Json] = {"type": "about:blank", "title": HTTPStatus(status).phrase}
    if detail:
        fields["detail"] = detail
    return written(go_json(fields | {"status": status}), status, PROBLEM, headers)


def undecodable(error: Exception) -> Reply:
    """SMD blames itself for JSON that it cannot read."""
    return problem(500, f"error decoding JSON {error}")


def message(text: str, status: int = 200) -> Reply:
    return answer({"code": 0, "message": text}, status)


def nothing() -> Reply:
    """204, for which SMD sends a Content-Type all the same."""
    return Reply(204, b"", JSON)


def created(uri: str) -> Reply:
    return answer({"URI": uri}, 201, [("Location", uri)])


def all_created(collection: str, uris: Sequence[str]) -> Reply:
    if not uris:
        return nothing()
    where = uris[0] if len(uris) == 1 else collection
    return answer([{"URI": uri} for uri in uris], 201, [("Location", where)])
