"""Controllers (BMCs, PDU controllers): whether they answer, and their restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csm_emulator.machine import timings
from csm_emulator.machine.context import MachineContext
from csm_emulator.state.tables import RecordTable

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine

CONTROLLERS = frozenset({"NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController"})


class Controllers:
    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._machine = machine
        self._context = context
        self._away: RecordTable[float] = context.tables.open("machine.controllers.away")
        """Moment at which a restarting controller answers again."""
        context.scheduler.register("controller.back", self._back)

    def reachable(self, controller: str) -> bool:
        """Whether it has power, is not restarting, and has no lasting fault."""
        if controller in self._away or not self._is_controller(controller):
            return False
        return self._machine.power.fed(controller) and not self._context.faults.present("bmc-unreachable", controller)

    def answers(self, controller: str, about: str) -> bool:
        """Whether it answers one request about a part; it counts as a use of a fault with a limited number."""
        struck = self._context.faults.strikes("bmc-unreachable", controller, about)
        return struck is None and self.reachable(controller)

    def restart(self, controller: str, cause: str) -> None:
        self._context.log.add("controller-restart", controller, cause)
        self._announce(controller, "down", cause)
        self._leave(controller, timings.BMC_RESTART)

    def lose_power(self, xname: str, cause: str) -> None:
        if self._is_controller(xname):
            self._away.pop(xname, None)
            self._announce(xname, "down", cause)

    def regain_power(self, xname: str) -> None:
        if self._is_controller(xname):
            self._leave(xname, timings.BLADE_SETTLES)

    def _is_controller(self, xname: str) -> bool:
        part = self._machine.part(xname)
        return part is not None and part.type in CONTROLLERS

    def _leave(self, controller: str, span: tuple[float, float]) -> None:
        now = self._context.clock.now()
        back = now + self._context.chance(span, controller, now)
        self._away[controller] = back
        self._context.scheduler.at(back, "controller.back", controller, back)

    def _back(self, controller: str, moment: float) -> None:
        """Marks it as started, unless it lost power or was restarted again meanwhile."""
        if self._away.get(controller) == moment:
            del self._away[controller]
            self._announce(controller, "up", "started")

    def _announce(self, controller: str, value: str, cause: str) -> None:
        self._context.log.add(f"controller-{value}", controller, cause)
        self._context.notify("controller", controller, value)
