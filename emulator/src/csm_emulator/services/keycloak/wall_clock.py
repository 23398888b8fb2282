"""The times of tokens. They are real times, not the machine's: a client compares ``exp`` with a clock of its own,
however fast the machine's time runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import UUID

from csm_emulator.records import Json


def now() -> float:
    return time.time()


def identifier(moment: float, tail: str) -> str:
    """A UUID that begins with its milliseconds, as version 7 does; ``tail`` is 20 hexadecimal digits."""
    return str(UUID(hex=f"{int(moment * 1000):012x}{tail}"))


def issued_at(claims: Mapping[str, Json]) -> float:
    """Exact to the millisecond for tokens made here: ``iat`` alone does not order two tokens of the same second."""
    issued, token_id = claims.get("iat"), claims.get("jti")
    exact = _milliseconds(token_id) / 1000 if isinstance(token_id, str) else 0.0
    if not isinstance(issued, int | float):
        return 0.0
    return exact if issued <= exact < issued + 1 else float(issued)


def _milliseconds(identity: str) -> int:
    try:
        return int(identity.rpartition(":")[2].replace("-", "")[:12], 16)
    except ValueError:
        return 0
