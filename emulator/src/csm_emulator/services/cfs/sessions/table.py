"""All sessions, by name, and how their status moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csm_emulator.records import Record
from csm_emulator.services.cfs.table import Table
from csm_emulator.state.tables import RecordTables

_ORDER = {"status": ["pending", "running", "complete"], "succeeded": ["none", "unknown", "false", "true"]}
"""Several report on one session; whoever is late does not turn it back."""


class Sessions(Table):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("cfs.sessions"))
        self.when_complete: Callable[[str], None] = _nobody
        """Called with the name of a session that has just come to its end."""

    def change(self, name: str, fields: Record, artifacts: list[Any]) -> Record:
        """Lay a report over the status of a session that there is."""
        before: Record = self._table[name]
        status = before["status"]
        session = {**status["session"], **_news(status["session"], fields)}
        known = list(status["artifacts"])
        known += [artifact for artifact in artifacts if not any(_says_all(each, artifact) for each in known)]
        after = {**before, "status": {**status, "session": session, "artifacts": known}}
        self._table[name] = after
        if session.get("status") == "complete" != status["session"].get("status"):
            self.when_complete(name)
        return after


def _news(session: Record, fields: Record) -> Record:
    """Nothing is overwritten by what is empty."""
    return {key: value for key, value in fields.items() if value and _goes_on(session, key, value)}


def _goes_on(session: Record, key: str, value: Any) -> bool:
    order = _ORDER.get(key)
    if order is None:
        return True
    before = session.get(key)
    return value in order and order.index(value) > (order.index(before) if before in order else -1)


def _says_all(known: Any, artifact: Any) -> bool:
    if not isinstance(known, dict) or not isinstance(artifact, dict):
        return bool(known == artifact)
    return all(known.get(key) == value for key, value in artifact.items())


def _nobody(name: str) -> None:
    """Until somebody asks to be told."""
