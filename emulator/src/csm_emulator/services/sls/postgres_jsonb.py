"""What PostgreSQL does with the ``ExtraProperties``, which SLS keeps as ``jsonb``."""

from __future__ import annotations

import json
import re

from csm_emulator.records import Json

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def has_nul(value: Json) -> bool:
    """PostgreSQL stores no NUL, neither in text nor in JSON."""
    return _NUL.search(json.dumps(value)) is not None


def text_of(value: Json) -> str:
    """As ``->>`` gives it."""
    return value if isinstance(value, str) else _written(value)


def _written(value: Json) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_written(key)}: {_written(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def texts(wanted: dict[str, str | list[str]]) -> list[str]:
    """All that the database is given to look for."""
    return [text for key, value in wanted.items() for text in (key, *([value] if isinstance(value, str) else value))]


def matches(properties: Json, wanted: dict[str, str | list[str]]) -> bool:
    return all(_matches(properties, key, value) for key, value in wanted.items())


def _matches(properties: Json, key: str, wanted: str | list[str]) -> bool:
    found = properties.get(key) if isinstance(properties, dict) else None
    if found is None:
        return False
    if isinstance(wanted, str):
        return text_of(found) == wanted
    if isinstance(found, str):
        return found in wanted
    return isinstance(found, list | dict) and any(isinstance(item, str) and item in wanted for item in found)
