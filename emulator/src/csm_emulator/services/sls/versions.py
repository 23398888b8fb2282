"""The version of SLS's data: a counter that only grows, and the time of the last change."""

from __future__ import annotations

from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable


class History(TypedDict):
    begin: float
    next: int
    """The number of the next change."""
    last: int
    at: float
    """Time of the last change."""


class Versions:
    """The counter is a PostgreSQL sequence: a change that is rolled back uses up its number."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._table: RecordTable[History] = context.tables.open("sls.versions")
        if "history" not in self._table:
            # The migration makes the first change; loading the site's hardware and networks makes two more.
            number = 3 if context.machine.topology.sls.get("Hardware") else 1
            now = context.clock.now()
            self._table["history"] = {"begin": now, "next": number + 1, "last": number, "at": now}

    @property
    def begin(self) -> float:
        return float(self._table["history"]["begin"])

    def change(self) -> float:
        """Count a change; returns its time, which becomes the last update of the changed rows."""
        history, now = self._table["history"], self._clock.now()
        self._table["history"] = {**history, "next": history["next"] + 1, "last": history["next"], "at": now}
        return now

    def fail(self) -> None:
        """Count a change that the database refused."""
        history = self._table["history"]
        self._table["history"] = {**history, "next": history["next"] + 1}

    def latest(self) -> Json:
        history = self._table["history"]
        return {"Counter": history["last"], "LastUpdated": rfc3339(history["at"])}
