"""Virtual time: seconds since 1970, at a speed, or standing still until somebody steps it.

While something that was due is being done, ``now`` is the moment at which it was due, however late the real machine is:
what happens depends on the seed and the requests, not on how busy the laptop is.
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
        """0 stands still."""
        return self._speed

    def set_speed(self, speed: float) -> None:
        self._base, self._anchor, self._speed = self.unheld_now(), self._wall(), speed

    def unheld_now(self) -> float:
        """How far time has come, whatever is still to be done on the way there."""
        return self._base + (self._wall() - self._anchor) * self._speed

    def now(self) -> float:
        return self.unheld_now() if self._held is None else self._held

    def hold(self, moment: float | None) -> None:
        """For the agenda alone: what is done now is done at this moment."""
        self._held = moment

    def jump_to(self, moment: float) -> None:
        """Go on from this moment."""
        self._base, self._anchor = moment, self._wall()

    def wall_seconds_until(self, moment: float) -> float:
        return max(0.0, (moment - self.unheld_now()) / self._speed) if self._speed else float("inf")


def next_tick(moment: float, interval: float, phase: float = 0.0) -> float:
    """The first multiple of the interval after a moment: when a loop that looks so often looks next.

    A loop is on the agenda only while it has work; on this grid it finds the same as one that never stops. ``phase``
    is how much later than the multiples its beats are: a loop begins when its process does.
    """
    return ((moment - phase) // interval + 1) * interval + phase


@lru_cache(maxsize=4096)
def rfc3339(moment: float, digits: int = 6) -> str:
    """As Go prints an instant: UTC, the fraction without the zeros at its end."""
    unit = 10**digits
    seconds, fraction_digits = divmod(round(moment * unit) if digits else int(moment // 1), unit)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{fraction_digits:0{digits}}".rstrip("0") if digits else ""
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"
