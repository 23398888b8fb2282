"""Instants of a long list: the same texts as everywhere, written five times as fast."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from canton.domain.instants import to_text

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


def writer() -> Callable[[int], str]:
    """For one answer; the calendar is asked once a day, and the rest of an instant is arithmetic."""
    date = cache(lambda day: to_text(day * _DAY)[:11])

    @cache  # what was seen or imported together has one instant
    def write(instant: int) -> str:
        day, time_of_day = divmod(instant, _DAY)
        seconds, fraction = divmod(time_of_day, _SECOND)
        return f"{date(day)}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}Z"

    return write
