"""The session-completion operator: a session completes when none of its components is enabled or staged."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.sessions.table import COMPLETE, RUNNING
from csm_emulator.services.bos.timestamps import stamp


def complete(bos: Bos, session: Record, error: str | None = None) -> None:
    """Mark the session complete and save its final status."""
    status: Record = {"status": COMPLETE, "end_time": stamp(bos.now)}
    if error is not None:
        status["error"] = error
    completed = bos.sessions.patch(session, {"status": status})
    bos.sessions.save_status(completed, bos.session_status.of(completed))


class SessionCompletion:
    name: ClassVar[str] = "session-completion"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def due(self) -> float | None:
        return self._bos.now if self._bos.sessions.any_with_status(RUNNING) else None

    def run(self) -> None:
        for session in self._bos.sessions.with_status(RUNNING):
            if self._is_over(session):
                complete(self._bos, session)

    def _is_over(self, session: Record) -> bool:
        components = self._bos.components
        name, tenant = session["name"], session.get("tenant")
        busy = [
            component for component in components.names_in_session(name) if components.get(component).get("enabled")
        ]
        busy += components.names_staged_for(name)
        if not busy or not tenant:
            return not busy
        return self._bos.tenants.members(tenant).isdisjoint(busy)
