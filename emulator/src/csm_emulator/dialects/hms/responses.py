"""What HPE's services share through their library ``hms-base``: problems and marshalled answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Reply, utf8

PROBLEM = "application/problem+json"
SNIFFED = "text/plain; charset=utf-8"
"""The Content-Type that Go's server detects for JSON when the handler set none in time."""
_UNSAFE = re.compile("[<>&\u2028\u2029]")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_encoded = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def marshal(value: Json) -> str:
    """As Go's ``json.Marshal`` writes it: compact, safe inside HTML, no newline."""
    text = _encoded(value)
    return _UNSAFE.sub(lambda found: _ESCAPES[found[0]], text) if _UNSAFE.search(text) else text


def marshalled(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return Reply(status, utf8(marshal(value)), media, headers)


def encoded(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """As Go's ``json.Encoder`` writes it: a newline ends the body."""
    return Reply(status, utf8(marshal(value)) + b"\n", media, headers)


def problem(status: int, title: str, detail: str, instance: str = "", headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """A ProblemDetails without its empty fields."""
    fields = {"type": "about:blank", "title": title, "detail": detail, "instance": instance, "status": status}
    return encoded({name: value for name, value in fields.items() if value}, status, PROBLEM, headers)
