"""JSON as a tree that keeps the order of fields, duplicate fields, and the spelling of numbers.

Its nodes are ``None``, ``bool``, ``str``, ``Number``, ``list`` and ``Object``. Errors have Go's messages.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from csm_emulator.dialects.go_json.syntax_errors import END, complaint
from csm_emulator.records import Json

LONGEST = 1 << 20
"""Bytes; a longer text is not scanned for Go's exact error message, which would delay other requests."""
DEEPEST = 400
"""Python's own limit is near 1000 on the whole stack; Go's is 10,000. No real body is deeper than a dozen."""
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")
BLANK = " \t\r\n"


class Number(str):
    """A number as it was written."""

    __slots__ = ()


class Object(list[tuple[str, Json]]):
    """Fields in the order in which they were written."""


def text_of(body: bytes) -> str:
    """The text as Go decodes it: U+FFFD for every byte that is not UTF-8."""
    return paired(body.decode("utf-8", "surrogateescape"))


def paired(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, as in Go."""
    return _SURROGATES.sub("\ufffd", text)


def parsed(text: str, *, whole: bool) -> Json:
    """Raises ``ValueError`` and ``RecursionError``."""
    _check_depth(text)
    decoder = _decoder()
    return decoder.decode(text) if whole else decoder.raw_decode(text.lstrip(BLANK))[0]


def _no_constant(name: str) -> Json:
    """Refuses NaN and Infinity, which Python accepts and JSON does not have."""
    raise ValueError(name)


def _decoder() -> json.JSONDecoder:
    """A decoder for one text: equal numbers become one object, to save memory."""
    number = lru_cache(maxsize=1024)(Number)
    return json.JSONDecoder(object_pairs_hook=Object, parse_int=number, parse_float=number, parse_constant=_no_constant)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for piece in _BRACKETS.findall(text):
        if piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        if depth > DEEPEST:
            raise ValueError("too deep")


def complaint_of(body: bytes, *, whole: bool) -> str:
    if len(body) > LONGEST:
        return END if whole else "unexpected EOF"
    message = complaint(body)
    if whole or not message:
        return message
    if message.endswith("after top-level value"):
        return ""
    # A Decoder has one message for every truncated text; another byte shows whether the text is one.
    return message if complaint(body + b"\0") == message else "unexpected EOF"


def word(value: Json) -> str:
    if isinstance(value, Object):
        return "object"
    if isinstance(value, Number):
        return "number"
    return {bool: "bool", str: "string", list: "array"}[type(value)]
