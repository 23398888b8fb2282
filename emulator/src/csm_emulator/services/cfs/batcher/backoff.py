"""When session after session fails, the batcher makes none for a while."""

from __future__ import annotations

from csm_emulator.services.cfs.options.table import Options
from csm_emulator.state.tables import RecordTables

_REMEMBERED = 20
_FIRST = 60


class Backoff:
    def __init__(self, tables: RecordTables, options: Options) -> None:
        self._table = tables.open("cfs.backoff")
        self._options = options

    def note(self, outcomes: list[bool], now: float) -> None:
        """How sessions ended, oldest first."""
        recent = [*self._table.get("recent", [True] * _REMEMBERED), *outcomes][-_REMEMBERED:]
        self._table["recent"] = recent
        if any(recent):
            self._table["seconds"] = 0
        elif not self.holds(now):
            longest = self._options.number("batcher_max_backoff")
            before = self._table.get("seconds", 0)
            self._table["seconds"] = min(longest, before * 2 if before else _FIRST)
            self._table["start"] = now

    def holds(self, now: float) -> bool:
        return bool(now - self._table.get("start", 0) < self._table.get("seconds", 0))

    def reset(self) -> None:
        self._table.clear()
