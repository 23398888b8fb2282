"""Reads the query or the small form of a request. A parameter may appear once."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from canton.issuer.oauth import OAuthError

_MAX_BYTES = 16 * 1024
_MAX_FIELDS = 32


async def _read_form(request: Request) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise OAuthError("invalid_request", "send a form: application/x-www-form-urlencoded", 415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise OAuthError("invalid_request", f"the form has more than {_MAX_BYTES} bytes", 413)
    return _fields(bytes(body))


async def _read_query(request: Request) -> dict[str, str]:
    return _fields(request.scope.get("query_string", b""))


Form = Annotated[dict[str, str], Depends(_read_form)]
Query = Annotated[dict[str, str], Depends(_read_query)]


def _fields(text: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        raise OAuthError("invalid_request", "the request is not made of names and values in UTF-8") from None
    fields = dict(pairs)
    # RFC 6749 §3.1: parameters are not to be repeated. Two checks could otherwise look at two different values.
    if len(fields) != len(pairs):
        raise OAuthError("invalid_request", "a parameter appears twice")
    return fields


def require(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "")
    if not value:
        raise OAuthError("invalid_request", f"{name} is missing")
    return value
