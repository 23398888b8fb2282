"""The replies of BSS, and Go's parsing of integers in queries."""

from __future__ import annotations

import re
from http import HTTPStatus

from csm_emulator.dialects.hms import responses as hms_base
from csm_emulator.records import Json
from csm_emulator.transport.call import Reply

JSON = "application/json; charset=UTF-8"
_WHOLE = re.compile(
    "([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)"
)


class Panic(Exception):
    """The handler of the real BSS panics here, which ends the connection."""


def encoded(value: Json, status: int = 200) -> Reply:
    return hms_base.encoded(value, status, JSON)


def sniffed(value: Json, status: int = 200) -> Reply:
    """A reply without a Content-Type: Go guesses it, and takes JSON for text."""
    return hms_base.encoded(value, status, hms_base.SNIFFED)


def problem(status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return hms_base.problem(status, HTTPStatus(status).phrase, detail, headers=headers)


def panic_reply() -> Reply:
    """Envoy's reply when the connection to BSS breaks."""
    text = b"upstream connect error or disconnect/reset before headers. reset reason: connection termination"
    return Reply(503, text, "text/plain")


def parse_int(text: str) -> int | None:
    """The number as ``strconv.ParseInt`` reads it with base 0; None when it refuses the text."""
    match = _WHOLE.fullmatch(text) if len(text) < 100 else None
    if match is None:
        return None
    digits = match[2].replace("_", "")
    number = int(digits, 8) if digits.isdigit() and digits[0] == "0" else int(digits, 0)
    number = -number if match[1] == "-" else number
    return number if -(1 << 63) <= number < 1 << 63 else None
