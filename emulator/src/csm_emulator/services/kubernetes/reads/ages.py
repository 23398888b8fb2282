"""How long ago, as kubectl says it."""

from __future__ import annotations

from datetime import datetime


def moment_of(text: object) -> float:
    """Of an instant as objects have it; 0 when it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def duration(seconds: float) -> str:
    """``HumanDuration`` of apimachinery: two units at most, the smaller one only while it matters."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    for unit, length, both_until, smaller, part in _UNITS:
        if whole < both_until[1] * length:
            rest = whole % length // part
            first = f"{whole // length}{unit}"
            return f"{first}{rest}{smaller}" if rest and whole < both_until[0] * length else first
    return f"{whole // _YEAR}y"


_DAY, _YEAR = 86400, 365 * 86400
_UNITS = (
    ("s", 1, (0, 120), "", 1),
    ("m", 60, (10, 180), "s", 1),
    ("h", 3600, (8, 48), "m", 60),
    ("d", _DAY, (8, 730), "h", 3600),
    ("y", _YEAR, (8, 8), "d", _DAY),
)
"""Unit, its length, up to how many of it the smaller unit is told too, and up to how many it is used at all."""


def age(text: object, now: float) -> str:
    return duration(now - moment_of(text)) if text else "<unknown>"
