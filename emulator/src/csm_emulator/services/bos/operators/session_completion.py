"""The session-completion operator: a session is over when none of its components is at work."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.sessions.table import COMPLETE, RUNNING
from csm_emulator.services.bos.timestamps import stamp


def complete(bos: Bos, session: Record, error: str | None = None) -> None:
    """It is over, and what it came to is kept."""
    status: Record = {"status": COMPLETE, "end_time": stamp(bos.now)}
    if error is not None:
        status["error"] = error
    over = bos.sessions.patch(session, {"status": status})
    bos.sessions.save_status(over, bos.session_status.of(over))


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
        busy = [each for each in components.of_session(name) if components.get(each).get("enabled")]
        busy += components.staged_for(name)
        if not busy or not tenant:
            return not busy
        return self._bos.tenants.members(tenant).isdisjoint(busy)
