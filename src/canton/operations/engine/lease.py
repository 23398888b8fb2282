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
    """One operation, leased. ``valid_until`` is ``uptime`` when the lease ends unless it is renewed.

    ``earliest`` and ``latest`` place the database's clock on ours, so that a timer written by one worker means the same
    instant to the next, whatever their own clocks say. They are bounds: an answer of the database is as old as it took.
    Before the first answer they contradict each other.
    """

    operation: str
    fence: int
    valid_until: float
    earliest: int = 1
    latest: int = 0
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
        """Take what the database said was the time, at an instant between ``asked_at`` by ``uptime`` and now.

        Every answer narrows the bounds. One that contradicts them means that a clock was set: then it stands alone.
        """
        earliest, latest = database_time - _microseconds(uptime()), database_time - _microseconds(asked_at)
        narrowed = max(self.earliest, earliest), min(self.latest, latest)
        self.earliest, self.latest = narrowed if narrowed[0] <= narrowed[1] else (earliest, latest)

    def now(self) -> int:
        """The database's time; it is not earlier than this."""
        return _microseconds(uptime()) + self.earliest

    def now_at_latest(self) -> int:
        """The database's time; it is not later than this."""
        return _microseconds(uptime()) + self.latest


def _microseconds(seconds: float) -> int:
    return round(seconds * SECOND)
