"""Instants: whole microseconds since 1970 UTC inside, RFC 3339 text outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from canton.domain.errors import InvalidRequest

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# datetime also accepts dates without a time, weeks, and times without an offset, which it takes for local time.
_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


def to_text(instant: int) -> str:
    """Always with six decimals, so that texts sort as the instants do."""
    seconds, microseconds = divmod(instant, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{microseconds:06}Z"


def from_text(text: str) -> int:
    if _TEXT.fullmatch(text):
        try:
            return (datetime.fromisoformat(text.upper()).astimezone(UTC) - EPOCH) // MICROSECOND
        except (ValueError, OverflowError):
            pass
    raise InvalidRequest(f'"{text}" is not an instant; write it as 2026-11-15T23:07:21Z', found=text)
