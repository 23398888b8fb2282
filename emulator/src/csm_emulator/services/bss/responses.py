"""The shapes of BSS's answers, and the way Go reads numbers in queries."""

from __future__ import annotations

import re
from http import HTTPStatus

from csm_emulator.dialects.hms import responses as hms_base
from csm_emulator.transport.call import Json, Reply

JSON = "application/json; charset=UTF-8"
_WHOLE = re.compile(
    "([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)"
)


class Panic(Exception):
    """The real one has a bug there: its handler dies and the connection with it."""


def encoded(value: Json, status: int = 200) -> Reply:
    return hms_base.encoded(value, status, JSON)


def sniffed(value: Json, status: int = 200) -> Reply:
    """Where no Content-Type is set, Go guesses, and takes JSON for text."""
    return hms_base.encoded(value, status, hms_base.SNIFFED)


def problem(status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return hms_base.problem(status, HTTPStatus(status).phrase, detail, headers=headers)


def panic_reply() -> Reply:
    """What Envoy makes of a connection that is gone."""
    text = b"upstream connect error or disconnect/reset before headers. reset reason: connection termination"
    return Reply(503, text, "text/plain")


def parse_int(text: str) -> int | None:
    """As ``strconv.ParseInt`` with base 0; None for what it refuses."""
    match = _WHOLE.fullmatch(text) if len(text) < 100 else None
    if match is None:
        return None
    digits = match[2].replace("_", "")
    number = int(digits, 8) if digits.isdigit() and digits[0] == "0" else int(digits, 0)
    number = -number if match[1] == "-" else number
    return number if -(1 << 63) <= number < 1 << 63 else None
