"""When the last 20 sessions all failed, the batcher pauses: 60 s, then twice as long each time, up to an option."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.state.tables import RecordTable, RecordTables

_RECENT_OUTCOMES = 20
_FIRST_PAUSE = 60


class Backoff:
    def __init__(self, tables: RecordTables, options: Options) -> None:
        self._table: RecordTable[Json] = tables.open("cfs.backoff")
        self._options = options

    def record(self, outcomes: list[bool], now: float) -> None:
        """Record the outcomes of sessions (True for success), oldest first."""
        recent = [*self._table.get("recent", [True] * _RECENT_OUTCOMES), *outcomes][-_RECENT_OUTCOMES:]
        self._table["recent"] = recent
        if any(recent):
            self._table["seconds"] = 0
        elif not self.is_active(now):
            longest = self._options.number("batcher_max_backoff")
            previous = self._table.get("seconds", 0)
            self._table["seconds"] = min(longest, previous * 2 if previous else _FIRST_PAUSE)
            self._table["start"] = now

    def is_active(self, now: float) -> bool:
        return bool(now - self._table.get("start", 0) < self._table.get("seconds", 0))

    def reset(self) -> None:
        self._table.clear()
