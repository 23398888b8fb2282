"""HBTD's search for the body field with a wrong type: all of its fields are strings."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANYTHING_BY_NAME, STRING, Struct, struct
from csm_emulator.records import Json


def strings(name: str, fields: Iterable[str]) -> Struct:
    return struct(f"main.{name}", dict.fromkeys(fields, STRING))


def wrong_field(body: bytes, fields: Iterable[str]) -> str | None:
    """The first field that is no string; empty when only its letter case differs, None when the body is no object."""
    try:
        document: Json = decode(body, ANYTHING_BY_NAME)
    except DecodeError:
        return None
    if document is None:
        return None
    return next((name for name in fields if document.get(name) is not None and not isinstance(document[name], str)), "")
