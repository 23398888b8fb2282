"""Searches in ``ExtraProperties``, which SLS stores as PostgreSQL's ``jsonb``."""

from __future__ import annotations

import json
import re

from csm_emulator.records import Json

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def has_nul(value: Json) -> bool:
    """Whether the value has a NUL, which PostgreSQL stores neither in text nor in ``jsonb``."""
    return _NUL.search(json.dumps(value)) is not None


def text_of(value: Json) -> str:
    """The value as the operator ``->>`` returns it."""
    return value if isinstance(value, str) else _json_text(value)


def _json_text(value: Json) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_json_text(key)}: {_json_text(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def search_texts(properties: dict[str, str | list[str]]) -> list[str]:
    """All texts of a search that reach the database."""
    return [
        text for key, value in properties.items() for text in (key, *([value] if isinstance(value, str) else value))
    ]


def matches(properties: Json, conditions: dict[str, str | list[str]]) -> bool:
    return all(_matches(properties, name, value) for name, value in conditions.items())


def _matches(properties: Json, key: str, condition: str | list[str]) -> bool:
    value = properties.get(key) if isinstance(properties, dict) else None
    if value is None:
        return False
    if isinstance(condition, str):
        return text_of(value) == condition
    if isinstance(value, str):
        return value in condition
    return isinstance(value, list | dict) and any(isinstance(item, str) and item in condition for item in value)
