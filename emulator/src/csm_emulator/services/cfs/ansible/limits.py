"""Limits on the work and memory of a playbook run, and when it must let other runs continue.

One unit of work is about ten microseconds of the emulator's process.
"""

from __future__ import annotations

MAX_RESULTS = 500_000
"""Results of hosts and items in one run, weighted by size; about what the container's 6 GiB can hold."""
MAX_WORK = 10_000_000
"""Total work of one run."""
WORK_PER_TURN = 10_000
"""Work after which other runs may continue."""
MAX_STEP_WORK = 60_000
"""Work on one host and one item, which cannot be interrupted."""


class LimitExceeded(Exception):
    """The run exceeds a limit and ends; the message states why and what to change."""


class OutOfMemory(LimitExceeded):
    """The run needs more memory than the container has: the kernel kills Ansible."""


class WorkMeter:
    def __init__(self) -> None:
        self._results = 0
        self._done = 0
        self._turn_start = 0
        self._turn_extra = 0

    @property
    def turn_is_over(self) -> bool:
        return self.done > WORK_PER_TURN

    @property
    def done(self) -> int:
        """Work since this turn started."""
        return self._done - self._turn_start + self._turn_extra

    def start_turn(self) -> None:
        """Start a new turn, after other runs had theirs."""
        self._turn_start = self._done
        self._turn_extra = 0

    def count_in_turn(self, amount: int) -> None:
        """Count work that depends on a cache shared between runs: it may end this turn, but never the run."""
        self._turn_extra += amount

    def count_results(self, results: int) -> None:
        """Count results in memory; raises ``OutOfMemory`` beyond the limit."""
        self._results += results
        self._done += results
        if self._results > MAX_RESULTS:
            raise OutOfMemory(
                "ansible-playbook was killed: its results and its log are more than the memory of the container holds. "
                "Loop over fewer items, print less, or limit the session to fewer hosts."
            )

    def work(self, amount: int) -> None:
        """Count work; raises ``LimitExceeded`` beyond the limit."""
        self._done += amount
        if self._done > MAX_WORK or self._done - self._turn_start > MAX_STEP_WORK:
            raise LimitExceeded(
                "ansible-playbook was killed: its templates and conditions take too long. "
                "Use shorter lists and texts, fewer filters and fewer conditions."
            )
