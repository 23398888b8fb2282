"""Plain data: what may be stored, hashed and sent, and the one way to write it down for hashing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]


def canonical(value: Json) -> str:
    """The same text for equal values: sorted keys, no spaces, no NaN, plain Unicode."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    """SHA-256 over the canonical text, as ``sha256:<hex>``."""
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()
