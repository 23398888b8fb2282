"""All sessions by name, and the transitions of their status."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.table import Table
from csm_emulator.state.tables import RecordTables

_ORDER = {"status": ["pending", "running", "complete"], "succeeded": ["none", "unknown", "false", "true"]}
"""Order of values: several programs report on a session, and a late report does not set it back."""


class Sessions(Table):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("cfs.sessions"))
        self.when_complete: Callable[[str], None] = _ignore
        """Called with the name of a session that has just completed."""

    def change(self, name: str, fields: Record, artifacts: list[Json]) -> Record:
        """Merge a report into the status of an existing session."""
        previous: Record = self._table[name]
        status = previous["status"]
        session = {**status["session"], **_new_values(status["session"], fields)}
        all_artifacts = list(status["artifacts"])
        all_artifacts += [
            artifact for artifact in artifacts if not any(_contains(existing, artifact) for existing in all_artifacts)
        ]
        changed = {**previous, "status": {**status, "session": session, "artifacts": all_artifacts}}
        self._table[name] = changed
        if session.get("status") == "complete" != status["session"].get("status"):
            self.when_complete(name)
        return changed


def _new_values(session: Record, fields: Record) -> Record:
    """The fields that change the session: empty values and earlier statuses are ignored."""
    return {key: value for key, value in fields.items() if value and _is_progress(session, key, value)}


def _is_progress(session: Record, key: str, value: Json) -> bool:
    order = _ORDER.get(key)
    if order is None:
        return True
    current = session.get(key)
    return value in order and order.index(value) > (order.index(current) if current in order else -1)


def _contains(existing: Json, artifact: Json) -> bool:
    if not isinstance(existing, dict) or not isinstance(artifact, dict):
        return bool(existing == artifact)
    return all(existing.get(key) == value for key, value in artifact.items())


def _ignore(name: str) -> None:
    """The default before the cleanup sets ``when_complete``."""
