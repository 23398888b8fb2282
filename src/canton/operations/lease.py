"""A lease as its holder sees it: a fence for every write, and a clock that says when to stop believing in it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from canton.domain.errors import LeaseLost
from canton.store.database import SECOND

# Linux counts suspended time only in CLOCK_BOOTTIME; elsewhere the monotonic clock is the best there is.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds that pass also while the machine or the process sleeps, and that nobody can set."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True)
class Lease:
    """One operation, leased. ``valid_until`` is ``uptime`` when the lease ends unless it is renewed.

    ``offset`` places the database's clock on ours, so that a timer written by one worker means the same instant to
    the next, whatever their own clocks say.
    """

    operation: str
    fence: int
    valid_until: float
    offset: int = 0
    cancel_by: str | None = None

    def require(self) -> None:
        """Raise when the lease may have ended: called right before a device is touched."""
        if uptime() >= self.valid_until:
            raise LeaseLost(
                f"operation {self.operation}: the lease ran out before it was renewed; another worker may act now",
                operation=self.operation,
                fence=self.fence,
            )

    def synchronise(self, database_time: int) -> None:
        self.offset = database_time - round(uptime() * SECOND)

    def now(self) -> int:
        """The database's time, as far as we know it."""
        return round(uptime() * SECOND) + self.offset
