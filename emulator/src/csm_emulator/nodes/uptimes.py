"""When each node's kernel started."""

from __future__ import annotations

from csm_emulator.machine.boot import KERNEL
from csm_emulator.machine.context import Event, MachineContext
from csm_emulator.machine.machine import Machine
from csm_emulator.state.tables import RecordTable

DAY = 86_400.0
EARLIER = (2 * DAY, 40 * DAY)
"""Seconds before the start of the machine at which nodes that are up from the start were booted."""
_BEGINNING = "machine"


class Uptimes:
    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._context = context
        self._table: RecordTable[float] = context.tables.open("nodes.uptimes")
        """The moment of the last boot by node, and the start of the machine."""
        if _BEGINNING not in self._table:
            self._table[_BEGINNING] = context.clock.now()
        machine.watch(self._on_event)

    def _on_event(self, event: Event) -> None:
        if event.kind == "stage" and event.value == KERNEL:
            self._table[event.xname] = self._context.clock.now()

    def booted(self, node: str) -> float:
        moment = self._table.get(node)
        if moment is None:
            return float(self._table[_BEGINNING]) - self._context.chance(EARLIER, "uptime", node)
        return float(moment)
