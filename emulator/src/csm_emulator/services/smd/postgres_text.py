"""Texts that PostgreSQL can store, and times as Go parses them."""

from __future__ import annotations

import re
from datetime import datetime

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")


LONGEST_XNAME = 63


class InvalidTime(ValueError):
    def __init__(self) -> None:
        super().__init__("Argument was not in a valid RFC3339 time format")


def storable(*texts: str | None) -> bool:
    """Whether PostgreSQL can store these: a text column cannot hold NUL, a JSON column can."""
    return not any(text and "\0" in text for text in texts)


def parse_time(text: str) -> float:
    """Seconds since 1970; raises ``InvalidTime``."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InvalidTime
    try:
        seconds = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        raise InvalidTime from None
    return seconds + float(match[2] or 0)
