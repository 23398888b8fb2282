"""Reads forms, and makes Keycloak's replies: JSON, OAuth errors, HTML pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply

SECURITY_HEADERS = (
    ("Referrer-Policy", "no-referrer"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
    ("X-Robots-Tag", "none"),
)
NO_STORE = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
NO_CACHE = (("Cache-Control", "no-cache"),)
NO_STORE_REVALIDATE = (("Cache-Control", "no-store, must-revalidate, max-age=0"),)
FRAME_POLICY = (("Content-Security-Policy", "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"),)

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class OAuthError(Exception):
    """An OAuth error."""

    status: int
    error: str
    description: str


def json_reply(value: Json, status: int = 200, headers: Headers = (), media: str = JSON) -> Reply:
    """JSON as Jackson writes it: compact, without a newline at the end."""
    return Reply(status, json.dumps(value, separators=(",", ":")).encode(), media, (*headers, *SECURITY_HEADERS))


def error_reply(refused: OAuthError, headers: Headers = ()) -> Reply:
    body = {"error": refused.error, "error_description": refused.description}
    return json_reply(body, refused.status, headers)


def challenge(status: int, error: str = "", description: str = "") -> Reply:
    """The reply of a resource that needs a bearer token."""
    parameters = f', error="{error}", error_description="{description}"' if error else ""
    authenticate = (("WWW-Authenticate", f'Bearer realm="shasta"{parameters}'),)
    return Reply(status, b"", "text/plain;charset=utf-8", (*NO_STORE, *authenticate, *SECURITY_HEADERS))


def page(title: str, body: str, headers: Headers = NO_CACHE) -> Reply:
    text = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{title}</h1>\n{body}\n</body></html>\n"
    )
    return Reply(200, text.encode(), "text/html;charset=utf-8", (*headers, *FRAME_POLICY, *SECURITY_HEADERS))


class Form(dict[str, str]):
    """The first value of each field; ``doubled`` when a field occurs more than once."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(reversed(pairs))
        self.doubled = len(pairs) != len(self)


def form_of(call: Call) -> Form:
    """The form in the body; an empty one for other content types."""
    media = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        return Form(())
    return Form(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))


def basic_credentials(headers: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and secret of HTTP Basic. RFC 6749 §2.3.1 requires percent-encoding, which many clients omit."""
    kind, _, code = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, colon, secret = base64.b64decode(code.strip(), validate=True).decode().partition(":")
    except ValueError:
        return None
    return (unquote(name), unquote(secret)) if colon else None
