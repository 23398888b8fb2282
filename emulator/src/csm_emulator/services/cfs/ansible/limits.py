"""How much a run of a playbook has done and holds: where it ends, and when others get their turn.

A unit is about ten microseconds of this process.
"""

from __future__ import annotations

MOST_HELD = 500_000
"""Results of hosts and items in one run, weighed; the container's 6 GiB hold no more."""
MOST_DONE = 10_000_000
"""Work of one run in all."""
TURN = 10_000
"""Work after which others get their turn."""
MOST_AT_ONCE = 60_000
"""Work on one host and one item, which nobody can interrupt."""


class TooMuch(Exception):
    """Ansible does not get to the end of this playbook; the words say why, and what helps."""


class OutOfMemory(TooMuch):
    """The kernel kills Ansible."""


class Meter:
    def __init__(self) -> None:
        self._held = 0
        self._done = 0
        self._rested = 0
        self._tired = 0

    @property
    def is_tired(self) -> bool:
        return self.done > TURN

    @property
    def done(self) -> int:
        """Since the last rest."""
        return self._done - self._rested + self._tired

    def rest(self) -> None:
        """Others have had their turn."""
        self._rested = self._done
        self._tired = 0

    def tire(self, amount: int) -> None:
        """Work that a run before may have spared this one: it brings others their turn, and never ends the run."""
        self._tired += amount

    def hold(self, results: int) -> None:
        """Raises ``OutOfMemory`` when it was too much."""
        self._held += results
        self._done += results
        if self._held > MOST_HELD:
            raise OutOfMemory(
                "ansible-playbook was killed: its results and its log are more than the memory of the container holds. "
                "Loop over fewer items, print less, or limit the session to fewer hosts."
            )

    def work(self, amount: int) -> None:
        """Raises ``TooMuch``."""
        self._done += amount
        if self._done > MOST_DONE or self._done - self._rested > MOST_AT_ONCE:
            raise TooMuch(
                "ansible-playbook was killed: its templates and conditions take longer than anybody waits. "
                "Use shorter lists and texts, fewer filters and fewer conditions."
            )
