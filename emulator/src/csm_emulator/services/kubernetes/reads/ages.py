"""Ages of objects in the format of kubectl."""

from __future__ import annotations

from datetime import datetime


def moment_of(text: object) -> float:
    """Unix time of an ISO 8601 timestamp; 0 when the text is not one."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def duration(seconds: float) -> str:
    """``HumanDuration`` of apimachinery: at most two units, the smaller one only for small values."""
    total = int(seconds)
    if total < 0:
        return "<invalid>" if total < -1 else "0s"
    for unit, length, limits, small_unit, small_length in _UNITS:
        if total < limits[1] * length:
            small_count = total % length // small_length
            large = f"{total // length}{unit}"
            return f"{large}{small_count}{small_unit}" if small_count and total < limits[0] * length else large
    return f"{total // _YEAR}y"


_DAY, _YEAR = 86400, 365 * 86400
_UNITS = (
    ("s", 1, (0, 120), "", 1),
    ("m", 60, (10, 180), "s", 1),
    ("h", 3600, (8, 48), "m", 60),
    ("d", _DAY, (8, 730), "h", 3600),
    ("y", _YEAR, (8, 8), "d", _DAY),
)
"""(unit, its seconds, (up to how many of it the smaller unit is added, up to how many it is used), smaller unit, its
seconds).
"""


def age(text: object, now: float) -> str:
    return duration(now - moment_of(text)) if text else "<unknown>"
