"""When session after session fails, the batcher makes none for a while."""

from __future__ import annotations

from csm_emulator.services.cfs.options.table import Options
from csm_emulator.state.tables import Shelves

_REMEMBERED = 20
_FIRST = 60


class Backoff:
    def __init__(self, shelves: Shelves, options: Options) -> None:
        self._shelf = shelves.open("cfs.backoff")
        self._options = options

    def note(self, outcomes: list[bool], now: float) -> None:
        """How sessions ended, oldest first."""
        recent = [*self._shelf.get("recent", [True] * _REMEMBERED), *outcomes][-_REMEMBERED:]
        self._shelf["recent"] = recent
        if any(recent):
            self._shelf["seconds"] = 0
        elif not self.holds(now):
            longest = self._options.number("batcher_max_backoff")
            before = self._shelf.get("seconds", 0)
            self._shelf["seconds"] = min(longest, before * 2 if before else _FIRST)
            self._shelf["start"] = now

    def holds(self, now: float) -> bool:
        return bool(now - self._shelf.get("start", 0) < self._shelf.get("seconds", 0))

    def reset(self) -> None:
        self._shelf.clear()
