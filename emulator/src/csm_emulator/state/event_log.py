"""The log of real changes, with moment and cause, for tests and users; no service reads it."""

from __future__ import annotations

import json

from csm_emulator.records import Json, Record
from csm_emulator.state.clock import Clock, rfc3339
from csm_emulator.state.file import Entry, StateFile


class EventLog:
    def __init__(self, clock: Clock, state_file: StateFile) -> None:
        self._clock = clock
        self._state_file = state_file
        self._last = state_file.last_entry()
        self._unwritten: list[Entry] = []

    def add(self, what: str, target: str, cause: str, **facts: Json) -> None:
        """``what`` is a short name such as power-on, boot-stage or fault-set."""
        self._last += 1
        entry = {"number": self._last, "at": rfc3339(self._clock.now()), "what": what, "target": target, "cause": cause}
        self._unwritten.append((self._last, json.dumps({**entry, **facts})))

    @property
    def last(self) -> int:
        return self._last

    def take_unwritten(self) -> list[Entry]:
        entries, self._unwritten = self._unwritten, []
        return entries

    def put_back(self, entries: list[Entry]) -> None:
        self._unwritten = [*entries, *self._unwritten]

    def after(self, number: int, limit: int) -> list[Record]:
        written = self._state_file.entries(number, limit)
        fresh = [entry for entry in self._unwritten if entry[0] > number]
        return [json.loads(text) for _, text in [*written, *fresh][:limit]]
