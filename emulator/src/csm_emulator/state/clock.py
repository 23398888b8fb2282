"""Virtual time: seconds since 1970, running at some speed, or stopped and moved by steps.

While a due action runs, ``now`` is the moment at which it was due, however late it runs: results depend on the seed and
the requests, not on the load of the computer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

SLOWEST, FASTEST = 0.0, 1000.0


class Clock:
    def __init__(self, start: float, speed: float, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._speed = speed
        self._base = start
        self._anchor = wall()
        self._held: float | None = None

    @property
    def speed(self) -> float:
        """Virtual seconds per real second; 0 is stopped."""
        return self._speed

    def set_speed(self, speed: float) -> None:
        self._base, self._anchor, self._speed = self.unheld_now(), self._wall(), speed

    def unheld_now(self) -> float:
        """Virtual time by the wall clock, even while a due action holds ``now`` at its moment."""
        return self._base + (self._wall() - self._anchor) * self._speed

    def now(self) -> float:
        return self.unheld_now() if self._held is None else self._held

    def hold(self, moment: float | None) -> None:
        """Fixes ``now`` at a moment; for the scheduler only. None ends it."""
        self._held = moment

    def jump_to(self, moment: float) -> None:
        """Continues from this moment."""
        self._base, self._anchor = moment, self._wall()

    def wall_seconds_until(self, moment: float) -> float:
        return max(0.0, (moment - self.unheld_now()) / self._speed) if self._speed else float("inf")


def next_tick(moment: float, interval: float, phase: float = 0.0) -> float:
    """The first multiple of the interval after a moment: the next run of a periodic loop.

    A loop is scheduled only while it has work; on this grid it runs at the same moments as one that never stops.
    ``phase`` shifts the multiples, in seconds: a real loop starts with its process.
    """
    return ((moment - phase) // interval + 1) * interval + phase


@lru_cache(maxsize=4096)
def rfc3339(moment: float, digits: int = 6) -> str:
    """A moment as Go prints it: UTC, without trailing zeros in the fraction."""
    unit = 10**digits
    seconds, fraction_digits = divmod(round(moment * unit) if digits else int(moment // 1), unit)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{fraction_digits:0{digits}}".rstrip("0") if digits else ""
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"
