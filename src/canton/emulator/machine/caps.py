"""Power caps of nodes, as their controllers keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canton.emulator.machine.means import Means
from canton.emulator.machine.power import Unreachable

if TYPE_CHECKING:
    from canton.emulator.machine.machine import Machine

CONTROL = "Node Power Control"
"""What Redfish calls it on Cray EX blades."""


class Caps:
    """Both orders raise ``Unreachable`` when the controller does not answer."""

    def __init__(self, machine: Machine, means: Means) -> None:
        self._machine = machine
        self._means = means
        self._shelf = means.shelves.open("machine.caps")

    def range(self, node: str) -> tuple[int, int] | None:
        """The least and the most watts that a cap may be; None for what cannot be capped."""
        part = self._machine.part(node)
        return part.model.power_limits if part and part.model else None

    def read(self, node: str) -> int:
        """0 is no cap."""
        self._reach(node)
        return int(self._shelf.get(node, 0))

    def write(self, node: str, watts: int, cause: str) -> None:
        self._reach(node)
        if self._shelf.get(node, 0) != watts:
            self._shelf[node] = watts
            self._means.log.add("power-cap", node, cause, watts=watts)

    def _reach(self, node: str) -> None:
        controller = self._machine.controller(node)
        if not self._machine.power.controllers.answers(controller, node):
            raise Unreachable(controller)
