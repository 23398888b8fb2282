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
        self._restarting: RecordTable[float] = context.tables.open("machine.controllers.restarting")
        """By restarting controller: the moment at which it answers again."""
        context.scheduler.register("controller.end-restart", self._end_restart)

    def reachable(self, controller: str) -> bool:
        """Whether it has power, is not restarting, and has no permanent fault."""
        if controller in self._restarting or not self._is_controller(controller):
            return False
        return self._machine.power.has_input_power(controller) and not self._context.faults.present(
            "bmc-unreachable", controller
        )

    def answers(self, controller: str, part: str) -> bool:
        """Whether it answers one request about a part; the request counts as a use of a fault of limited number."""
        fault = self._context.faults.trigger("bmc-unreachable", controller, part)
        return fault is None and self.reachable(controller)

    def restart(self, controller: str, cause: str) -> None:
        self._context.log.add("controller-restart", controller, cause)
        self._announce(controller, "down", cause)
        self._start_restart(controller, timings.BMC_RESTART)

    def lose_power(self, xname: str, cause: str) -> None:
        if self._is_controller(xname):
            self._restarting.pop(xname, None)
            self._announce(xname, "down", cause)

    def regain_power(self, xname: str) -> None:
        if self._is_controller(xname):
            self._start_restart(xname, timings.BLADE_SETTLES)

    def _is_controller(self, xname: str) -> bool:
        part = self._machine.part(xname)
        return part is not None and part.type in CONTROLLERS

    def _start_restart(self, controller: str, span: tuple[float, float]) -> None:
        now = self._context.clock.now()
        ready_at = now + self._context.chance(span, controller, now)
        self._restarting[controller] = ready_at
        self._context.scheduler.at(ready_at, "controller.end-restart", controller, ready_at)

    def _end_restart(self, controller: str, ready_at: float) -> None:
        """Marks the controller as started, unless it lost power or was restarted again meanwhile."""
        if self._restarting.get(controller) == ready_at:
            del self._restarting[controller]
            self._announce(controller, "up", "started")

    def _announce(self, controller: str, value: str, cause: str) -> None:
        self._context.log.add(f"controller-{value}", controller, cause)
        self._context.notify("controller", controller, value)
