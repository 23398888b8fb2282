"""Forms that come in, and how Keycloak's answers look."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply

SAFE = (
    ("Referrer-Policy", "no-referrer"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
    ("X-Robots-Tag", "none"),
)
NO_STORE = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
NO_CACHE = (("Cache-Control", "no-cache"),)
FRESH = (("Cache-Control", "no-store, must-revalidate, max-age=0"),)
FRAMES = (("Content-Security-Policy", "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"),)

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Refused(Exception):
    """An OAuth error."""

    status: int
    error: str
    description: str


def json_answer(value: Json, status: int = 200, headers: Headers = (), media: str = JSON) -> Reply:
    """As Jackson writes it: compact, nothing after it."""
    return Reply(status, json.dumps(value, separators=(",", ":")).encode(), media, (*headers, *SAFE))


def refusal(refused: Refused, headers: Headers = ()) -> Reply:
    told = {"error": refused.error, "error_description": refused.description}
    return json_answer(told, refused.status, headers)


def challenge(status: int, error: str = "", description: str = "") -> Reply:
    """Of a resource that wants a bearer token."""
    told = f', error="{error}", error_description="{description}"' if error else ""
    said = (("WWW-Authenticate", f'Bearer realm="shasta"{told}'),)
    return Reply(status, b"", "text/plain;charset=utf-8", (*NO_STORE, *said, *SAFE))


def page(title: str, body: str, headers: Headers = NO_CACHE) -> Reply:
    text = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{title}</h1>\n{body}\n</body></html>\n"
    )
    return Reply(200, text.encode(), "text/html;charset=utf-8", (*headers, *FRAMES, *SAFE))


class Form(dict[str, str]):
    """The first value of every field."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(reversed(pairs))
        self.doubled = len(pairs) != len(self)


def form_of(call: Call) -> Form:
    """What is not sent as a form is an empty one."""
    media = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        return Form(())
    return Form(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))


def basic(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and secret of HTTP Basic, which RFC 6749 §2.3.1 wants percent-encoded and many send as they are."""
    kind, _, code = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, colon, secret = base64.b64decode(code.strip(), validate=True).decode().partition(":")
    except ValueError:
        return None
    return (unquote(name), unquote(secret)) if colon else None
