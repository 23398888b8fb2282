"""Validation of the fields of a body; raises ``RequestRejected`` on a wrong type.

A null field counts as missing, and unknown fields are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from csm_emulator.records import Json, Record
from csm_emulator.services.fabric_manager.documents import RequestRejected

FieldReader = Callable[[str, Json], Json]
_NAME = re.compile(r"[A-Za-z0-9._~:@+-]{1,255}")


def read_fields(body: Mapping[str, Json], kinds: Mapping[str, FieldReader]) -> Record:
    return {name: read(name, body[name]) for name, read in kinds.items() if body.get(name) is not None}


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestRejected(400, f"{name} must be a string")
    return value


def integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestRejected(400, f"{name} must be an integer")
    return value


def boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RequestRejected(400, f"{name} must be a boolean")
    return value


def texts(name: str, value: object) -> list[str]:
    return [text(name, item) for item in _list(name, value)]


def integers(name: str, value: object) -> list[int]:
    return [integer(name, item) for item in _list(name, value)]


def _list(name: str, value: object) -> list[Json]:
    if not isinstance(value, list):
        raise RequestRejected(400, f"{name} must be an array")
    return value


def one_of(*words: str) -> FieldReader:
    def read(name: str, value: object) -> str:
        if value not in words or not isinstance(value, str):
            raise RequestRejected(400, f"{name} must be one of {', '.join(words)}")
        return value

    return read


def structure(kinds: Mapping[str, FieldReader]) -> FieldReader:
    def read(name: str, value: object) -> Record:
        if not isinstance(value, dict):
            raise RequestRejected(400, f"{name} must be an object")
        return read_fields(value, {inner: _inside(name, kind) for inner, kind in kinds.items()})

    return read


def _inside(outer: str, kind: FieldReader) -> FieldReader:
    return lambda name, value: kind(f"{outer}.{name}", value)


def path_name(field: str, value: object) -> str:
    """A name that can be one segment of a path."""
    name = text(field, value)
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise RequestRejected(400, f"{field} must have 1 to 255 of the characters A-Z a-z 0-9 . _ ~ : @ + -")
    return name
