"""A lease in memory of its holder: the fence for every write, and the time after which it must not be used."""

from __future__ import annotations

import time
from dataclasses import dataclass

from canton.domain.errors import LeaseLost
from canton.store.database import SECOND

# Linux counts suspended time only in CLOCK_BOOTTIME; elsewhere the monotonic clock is the best there is.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds of a clock that also runs while the machine is suspended, and that cannot be set."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True)
class Lease:
    """The lease of one operation. ``valid_until`` is the ``uptime`` at which it ends unless it is renewed.

    ``min_clock_offset`` and ``max_clock_offset`` are bounds of (database time - ``uptime``) in microseconds; with them
    a timer written by one worker means the same instant to the next. Each response narrows them, because the database
    read its clock between the request and the response. Initially min > max, which means: unknown.
    """

    operation: str
    fence: int
    valid_until: float
    min_clock_offset: int = 1
    max_clock_offset: int = 0
    cancel_by: str | None = None

    def require(self) -> None:
        """Raise LeaseLost if the lease may have ended; called right before a request to a device."""
        if uptime() >= self.valid_until:
            raise LeaseLost(
                f"operation {self.operation}: the lease ran out before it was renewed; another worker may act now",
                operation=self.operation,
                fence=self.fence,
            )

    def synchronise(self, database_time: int, asked_at: float) -> None:
        """Narrow the bounds with a time that the database reported between ``asked_at``, by ``uptime``, and now.

        If the new bounds do not overlap the old ones, a clock was set: they replace the old ones.
        """
        lower, upper = database_time - _microseconds(uptime()), database_time - _microseconds(asked_at)
        narrowed = max(self.min_clock_offset, lower), min(self.max_clock_offset, upper)
        self.min_clock_offset, self.max_clock_offset = narrowed if narrowed[0] <= narrowed[1] else (lower, upper)

    def earliest_now(self) -> int:
        """A lower bound of the database's current time, in microseconds."""
        return _microseconds(uptime()) + self.min_clock_offset

    def latest_now(self) -> int:
        """An upper bound of the database's current time, in microseconds."""
        return _microseconds(uptime()) + self.max_clock_offset


def _microseconds(seconds: float) -> int:
    return round(seconds * SECOND)
