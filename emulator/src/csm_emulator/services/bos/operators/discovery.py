"""The discovery operator: it adds nodes that HSM has and BOS does not have yet."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.services.bos.components.table import new_component
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.operators.schedule import SHORTEST_INTERVAL
from csm_emulator.services.bos.sessions.table import PENDING, RUNNING
from csm_emulator.state.tables import RecordTable


class Discovery:
    name: ClassVar[str] = "discovery"
    frequency: ClassVar[str] = "discovery_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self._last_run: RecordTable[float] = bos.context.tables.open("bos.discovery")
        if "at" not in self._last_run:
            self._last_run["at"] = bos.now

    def due(self) -> float | None:
        """Now while BOS has work; otherwise None, because a read of components triggers discovery."""
        sessions = self._bos.sessions
        busy = self._bos.components.any_enabled() or any(
            sessions.any_with_status(status) for status in (PENDING, RUNNING)
        )
        return self._bos.now if busy else None

    def catch_up(self) -> None:
        """Run discovery if at least one interval has passed since its last run."""
        interval = max(float(self._bos.options.number(self.frequency)), SHORTEST_INTERVAL)
        if self._bos.now // interval > float(self._last_run["at"]) // interval:
            try:
                self.run()
            except Failure:
                return

    def run(self) -> None:
        self._last_run["at"] = self._bos.now
        missing = sorted(self._bos.neighbours.nodes() - set(self._bos.components.all_names()))
        self._bos.components.put_new({name: new_component(name) for name in missing})
