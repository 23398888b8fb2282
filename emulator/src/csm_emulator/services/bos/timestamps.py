"""Times as BOS writes them: whole seconds of UTC, without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()


@lru_cache(maxsize=4096)
def stamp(moment: float) -> str:
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=4096)
def moment_of(text: str) -> float:
    """Raises ``ValueError``. A zone is not looked at."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def seconds_of(duration: str) -> float:
    """Of an option: ``7d``, ``4h``; 0 for what has no unit."""
    number = int(re.sub("[^0-9]", "", duration))
    return number * _SECONDS.get(duration[-1].lower(), 0.0)


def before(now: float, seconds: float) -> float:
    """Raises ``ValueError`` for what was before the first year, which Python has no date for."""
    if now - seconds < _FIRST:
        raise ValueError("date value out of range")
    return now - seconds
