"""The operators that forget: sessions that are long over, and what nodes said too long ago."""

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
        starts = [_start(session) for session in self._over()]
        return min(starts) + lifetime if lifetime and starts else None

    def run(self) -> None:
        lifetime = self._lifetime()
        for session in self._over() if lifetime else ():
            if _start(session) + lifetime <= self._bos.now:
                self._bos.sessions.delete(session["name"], None)

    def _lifetime(self) -> float:
        """0: they are kept."""
        return seconds_of(self._bos.options.text("cleanup_completed_session_ttl"))

    def _over(self) -> list[Record]:
        """The operator has no tenant, so it does not reach what belongs to one."""
        return [session for session in self._bos.sessions.with_status(COMPLETE) if not session.get("tenant")]


class ActualStateCleanup:
    name: ClassVar[str] = "actual-state-cleanup"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def due(self) -> float | None:
        told = [self._told(name) for name in self._bos.components.running_something()]
        return min(told) + self._lifetime() if told else None

    def run(self) -> None:
        latest = self._bos.now - self._lifetime()
        old = [name for name in self._bos.components.running_something() if self._told(name) < latest]
        cleared = {
            "actual_state": NO_ACTUAL_STATE,
            "error": "",
            "last_action": {"action": "actual_state_cleanup", "failed": False},
        }
        self._bos.components.patch_alike(old, cleared)

    def _lifetime(self) -> float:
        return seconds_of(self._bos.options.text("component_actual_state_ttl"))

    def _told(self, name: str) -> float:
        """When the node last said what it runs; long ago, when nobody knows."""
        text = self._bos.components.get(name)["actual_state"].get("last_updated")
        return moment_of(text) if text else 0.0


def _start(session: Record) -> float:
    """A start that is no time is taken for one long ago."""
    try:
        return moment_of(session["status"].get("start_time") or "")
    except ValueError:
        return 0.0
