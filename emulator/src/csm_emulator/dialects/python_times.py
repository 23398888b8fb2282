"""Moments and ages as in CSM's Python services."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_UNITS = ("weeks", "days", "hours", "minutes")


def without_zone(moment: float) -> datetime:
    """The moment as ``datetime.now`` returns it in a container: UTC, without a zone."""
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


def span(age: str) -> timedelta:
    """An age such as ``7d``, ``2h30m`` or ``1 week``; raises ``OverflowError``."""
    matches = {unit: re.search(rf"(\d+)\w*{unit[0]}", age, re.IGNORECASE) for unit in _UNITS}
    return timedelta(**{unit: int(match[1]) for unit, match in matches.items() if match})
