"""Operators that delete old sessions and clear actual states that nodes reported too long ago."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ACTUAL_STATE
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.sessions.table import COMPLETE
from csm_emulator.services.bos.timestamps import moment_of, seconds_of


class SessionCleanup:
    name: ClassVar[str] = "session-cleanup"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def due(self) -> float | None:
        lifetime = self._lifetime()
        starts = [_start(session) for session in self._completed_sessions()]
        return min(starts) + lifetime if lifetime and starts else None

    def run(self) -> None:
        lifetime = self._lifetime()
        for session in self._completed_sessions() if lifetime else ():
            if _start(session) + lifetime <= self._bos.now:
                self._bos.sessions.delete(session["name"], None)

    def _lifetime(self) -> float:
        """Seconds for which a completed session is kept; 0 means forever."""
        return seconds_of(self._bos.options.text("cleanup_completed_session_ttl"))

    def _completed_sessions(self) -> list[Record]:
        """Completed sessions without a tenant: the operator works without a tenant and cannot delete the others."""
        return [session for session in self._bos.sessions.with_status(COMPLETE) if not session.get("tenant")]


class ActualStateCleanup:
    name: ClassVar[str] = "actual-state-cleanup"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def due(self) -> float | None:
        reports = [self._last_report(name) for name in self._bos.components.with_boot_artefacts()]
        return min(reports) + self._lifetime() if reports else None

    def run(self) -> None:
        latest = self._bos.now - self._lifetime()
        old = [name for name in self._bos.components.with_boot_artefacts() if self._last_report(name) < latest]
        cleared = {
            "actual_state": NO_ACTUAL_STATE,
            "error": "",
            "last_action": {"action": "actual_state_cleanup", "failed": False},
        }
        self._bos.components.patch_alike(old, cleared)

    def _lifetime(self) -> float:
        return seconds_of(self._bos.options.text("component_actual_state_ttl"))

    def _last_report(self, name: str) -> float:
        """When the node last reported what it runs; 0 when there is no date."""
        text = self._bos.components.get(name)["actual_state"].get("last_updated")
        return moment_of(text) if text else 0.0


def _start(session: Record) -> float:
    """The session's start; 0 when it is not a valid time."""
    try:
        return moment_of(session["status"].get("start_time") or "")
    except ValueError:
        return 0.0
