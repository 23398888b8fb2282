"""Times as BOS writes them: whole seconds of UTC, without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC).timestamp()


@lru_cache(maxsize=4096)
def stamp(moment: float) -> str:
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=4096)
def moment_of(text: str) -> float:
    """The time as seconds since the epoch, in UTC whatever zone the text names; raises ``ValueError``."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def seconds_of(duration: str) -> float:
    """Seconds of an option's duration such as ``7d`` or ``4h``; 0 when it has no unit."""
    number = int(re.sub("[^0-9]", "", duration))
    return number * _SECONDS.get(duration[-1].lower(), 0.0)


def subtract_age(now: float, seconds: float) -> float:
    """The time this many seconds before now; raises ``ValueError`` before year 1, the first year of Python's dates."""
    if now - seconds < _EARLIEST:
        raise ValueError("date value out of range")
    return now - seconds
