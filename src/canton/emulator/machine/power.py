"""Power as the hardware has it, and what a controller does when it is told over Redfish to change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from canton.emulator.machine import timings
from canton.emulator.machine.means import Means
from canton.emulator.machine.parts import Part

if TYPE_CHECKING:
    from canton.emulator.machine.machine import Machine

ON, OFF = "on", "off"
SWITCHED = frozenset({"Chassis", "ComputeModule", "RouterModule", "Node", "CabinetPDUPowerConnector"})
"""What has a power of its own; everything else has that of what feeds it."""
CONTROLLERS = frozenset({"NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController"})
RESETS: Mapping[str, tuple[str, ...]] = {
    "Node": ("On", "ForceOff", "Off", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle"),
    "ComputeModule": ("On", "Off", "ForceOff"),
    "RouterModule": ("On", "Off", "ForceOff"),
    "Chassis": ("On", "Off", "ForceOff"),
    "CabinetPDUPowerConnector": ("On", "Off", "PowerCycle"),
    "NodeBMC": ("ForceRestart", "GracefulRestart"),
    "ChassisBMC": ("ForceRestart", "GracefulRestart"),
    "RouterBMC": ("ForceRestart", "GracefulRestart"),
}
"""The ResetTypes that Redfish allows, by type of part."""


class Unreachable(Exception):
    """The controller does not answer."""


class Refused(Exception):
    """The controller answers, and says no."""


class Power:
    """``reset`` gives an order to a controller; what comes of it comes later, or not at all."""

    def __init__(self, machine: Machine, means: Means) -> None:
        self._machine = machine
        self._means = means
        running = machine.topology.running
        seed = {
            part.xname: {"is": ON if part.type != "Node" or part.xname in running else OFF, "since": 0.0, "was": OFF}
            for part in machine.parts(*SWITCHED)
        }
        self._shelf = means.shelves.open("machine.power", seed)
        self._orders = means.shelves.open("machine.power.orders")
        self._away = means.shelves.open("machine.controllers.away")
        self._feeder = {fed: part.xname for part in machine.parts() for fed in part.feeds}
        means.agenda.answer("power.becomes", self._becomes)
        means.agenda.answer("controller.back", self._back)

    def state(self, xname: str) -> str:
        """``on`` or ``off``; what has no power of its own has that of what feeds it."""
        found = self._shelf.get(xname)
        if found is not None:
            return str(found["is"])
        feeder = self._feeder.get(xname)
        return self.state(feeder) if feeder else ON

    def since(self, xname: str) -> float:
        found = self._shelf.get(xname)
        return float(found["since"]) if found else 0.0

    def state_at(self, xname: str, moment: float) -> str:
        """As it was at a recent moment: before the last change, what it was before it."""
        found = self._shelf.get(xname)
        return self.state(xname) if found is None or found["since"] <= moment else str(found["was"])

    def fed(self, xname: str) -> bool:
        """Whether there is power to be switched on with."""
        feeder = self._feeder.get(xname)
        return feeder is None or (self.state(feeder) == ON and self.fed(feeder))

    def reachable(self, controller: str) -> bool:
        """Whether the controller answers now."""
        if controller in self._away or self._machine.part(controller) is None:
            return False
        return self.fed(controller) and not self._means.faults.present("bmc-unreachable", controller)

    def reset(self, xname: str, action: str, cause: str) -> None:
        """What a POST to Redfish's Reset does; raises ``Unreachable`` or ``Refused``."""
        part = self._machine.part(xname)
        if part is None or action not in RESETS.get(part.type, ()):
            raise Refused(f"{xname} knows no reset {action}")
        controller = part.controller or xname
        unreachable = self._means.faults.strikes("bmc-unreachable", controller, xname)
        if unreachable or not self.reachable(controller):
            raise Unreachable(controller)
        if part.type in CONTROLLERS:
            self._restart_controller(part, cause)
        else:
            self._order(part, action, cause)

    def _order(self, part: Part, action: str, cause: str) -> None:
        number = self._orders.get(part.xname, 0) + 1
        self._orders[part.xname] = number
        self._means.log.add("power-order", part.xname, cause, action=action)
        graceful = part.type == "Node" and action in ("GracefulShutdown", "GracefulRestart", "Off")
        if action == "On":
            self._switch_on(part.xname, number, timings.POWER_ON, cause)
        elif graceful:
            self._shut_down(part.xname, number, cause, again=action == "GracefulRestart")
        else:
            self._switch_off(part.xname, number, cause, again=action in ("ForceRestart", "PowerCycle"))

    def _switch_on(self, xname: str, number: int, span: tuple[float, float], cause: str) -> None:
        if self.state(xname) == ON:
            return
        if self._means.faults.strikes("no-power-on", xname):
            self._means.log.add("power-on-failed", xname, "fault no-power-on")
            return
        wait = self._means.chance(span, "power", xname, number)
        self._means.agenda.after(wait, "power.becomes", xname, number, ON, cause, False)

    def _shut_down(self, xname: str, number: int, cause: str, *, again: bool) -> None:
        if self.state(xname) == OFF or not self._machine.boot.begin_shutdown(xname):
            # Nobody is there who could shut down; the order is lost, as it is on real hardware.
            return
        wait = self._means.chance(timings.SHUTDOWN, "shutdown", xname, number)
        self._means.agenda.after(wait, "power.becomes", xname, number, OFF, cause, again)

    def _switch_off(self, xname: str, number: int, cause: str, *, again: bool) -> None:
        if self.state(xname) == OFF and not again:
            return
        wait = self._means.chance(timings.FORCE_OFF, "off", xname, number)
        self._means.agenda.after(wait, "power.becomes", xname, number, OFF, cause, again)

    def _becomes(self, xname: str, number: int, state: str, cause: str, again: bool) -> None:
        """An order takes effect, unless a later one took its place."""
        if self._orders.get(xname) != number or (state == ON and not self.fed(xname)):
            return
        self._set(xname, state, cause)
        if again:
            self._switch_on(xname, number, timings.POWER_ON, cause)

    def _set(self, xname: str, state: str, cause: str) -> None:
        before: dict[str, Any] = self._shelf[xname]
        if before["is"] == state:
            return
        self._shelf[xname] = {"is": state, "since": self._means.clock.now(), "was": before["is"]}
        self._means.log.add(f"power-{state}", xname, cause)
        if state == OFF:
            self._starve(xname)
        else:
            self._revive(xname)
        self._announce(xname, state)

    def _announce(self, xname: str, state: str) -> None:
        self._machine.boot.power_changed(xname, state)
        self._means.tell("power", xname, state)

    def _starve(self, xname: str) -> None:
        """What this fed goes dark with it."""
        for fed in self._parts_fed_by(xname):
            if fed in self._shelf:
                self._orders[fed] = self._orders.get(fed, 0) + 1
                self._set(fed, OFF, f"{xname} lost power")
            else:
                self._say_controller(fed, "down")
                self._starve(fed)

    def _revive(self, xname: str) -> None:
        """Controllers start by themselves; what has a switch of its own waits for an order."""
        for fed in self._parts_fed_by(xname):
            part = self._machine.part(fed)
            if part and part.type in CONTROLLERS:
                self._leave(fed, timings.BLADE_SETTLES)

    def _parts_fed_by(self, xname: str) -> tuple[str, ...]:
        part = self._machine.part(xname)
        return part.feeds if part else ()

    def _restart_controller(self, part: Part, cause: str) -> None:
        self._means.log.add("controller-restart", part.xname, cause)
        self._say_controller(part.xname, "down")
        self._leave(part.xname, timings.BMC_RESTART)

    def _leave(self, controller: str, span: tuple[float, float]) -> None:
        moment = self._means.clock.now()
        self._away[controller] = moment
        self._means.agenda.after(self._means.chance(span, controller, moment), "controller.back", controller, moment)

    def _back(self, controller: str, left: float) -> None:
        if self._away.get(controller) == left:
            del self._away[controller]
            if self.fed(controller):
                self._say_controller(controller, "up")

    def _say_controller(self, xname: str, value: str) -> None:
        part = self._machine.part(xname)
        if part and part.type in CONTROLLERS:
            self._means.log.add(f"controller-{value}", xname, "power" if value == "down" else "started")
            self._means.tell("controller", xname, value)
