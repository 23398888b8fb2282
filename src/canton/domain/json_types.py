"""JSON values that Canton stores, hashes and sends, and their canonical text for hashing."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

# PostgreSQL cannot store NUL in a text, and no encoding can write half of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: object) -> Json:
    """The value as every database can keep it, with U+FFFD in place of characters that it cannot.

    Raises ``TypeError`` for other types (bytes, objects) and for NaN and infinity.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, Mapping):
        return {str(storable(str(name))): storable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    raise TypeError(f"{type(value).__name__} is not plain data")


def canonical(value: Json) -> str:
    """The same text for equal values: sorted keys, no spaces, no NaN, plain Unicode."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    """SHA-256 over the canonical text, as ``sha256:<hex>``."""
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()
