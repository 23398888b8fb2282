"""The discovery operator: nodes that HSM has and BOS has not."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.services.bos.components.table import new_component
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.operators.intervals import SHORTEST
from csm_emulator.services.bos.sessions.table import PENDING, RUNNING


class Discovery:
    name: ClassVar[str] = "discovery"
    frequency: ClassVar[str] = "discovery_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self._looked = bos.context.tables.open("bos.discovery")
        if "at" not in self._looked:
            self._looked["at"] = bos.now

    def due(self) -> float | None:
        """While BOS works; else somebody who reads components has it done."""
        sessions = self._bos.sessions
        busy = self._bos.components.any_enabled() or any(
            sessions.any_with_status(status) for status in (PENDING, RUNNING)
        )
        return self._bos.now if busy else None

    def catch_up(self) -> None:
        """What would have been found by now is found."""
        interval = max(float(self._bos.options.number(self.frequency)), SHORTEST)
        if self._bos.now // interval > float(self._looked["at"]) // interval:
            try:
                self.run()
            except Failure:
                return

    def run(self) -> None:
        self._looked["at"] = self._bos.now
        missing = sorted(self._bos.neighbours.nodes() - set(self._bos.components.all_known()))
        self._bos.components.put_new({name: new_component(name) for name in missing})
