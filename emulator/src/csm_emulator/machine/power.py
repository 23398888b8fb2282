"""The power state of hardware, and the effect of Redfish resets on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from csm_emulator.machine import timings
from csm_emulator.machine.context import MachineContext
from csm_emulator.machine.controllers import CONTROLLERS, Controllers
from csm_emulator.machine.parts import Part
from csm_emulator.state.tables import RecordTable

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine

ON, OFF = "on", "off"
SWITCHED = frozenset({"Chassis", "ComputeModule", "RouterModule", "Node", "CabinetPDUPowerConnector"})
"""Types with a power switch of their own; other parts have the power state of their power sources."""
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


SwitchState = TypedDict("SwitchState", {"is": str, "since": float, "was": str})
"""The state of a power switch, the moment of its last change, and the state before it."""


class ControllerUnreachable(Exception):
    """The controller does not answer."""


class ResetRefused(Exception):
    """The controller answers and refuses the reset."""


class Power:
    """Power state of every part.

    ``reset`` sends an order to a controller; its effect comes later, or not at all.
    An order that changes something replaces the pending one. An order that changes nothing does not: a node that is
    shutting down continues to do so when it gets the order to switch on, since it is still on.
    """

    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._machine = machine
        self._context = context
        self._table = context.tables.open("machine.power", _seed(machine))
        self._orders: RecordTable[int] = context.tables.open("machine.power.orders")
        self._power_sources: dict[str, tuple[str, ...]] = {}
        for part in machine.parts():
            for consumer in part.feeds:
                self._power_sources[consumer] = (*self._power_sources.get(consumer, ()), part.xname)
        self.controllers = Controllers(machine, context)
        self._handlers: dict[str, Callable[[str, str], None]] = {
            "On": self._switch_on,
            "ForceOff": self._switch_off,
            "GracefulShutdown": self._shut_down,
            "GracefulRestart": self._restart_gracefully,
            "ForceRestart": self._restart,
            "PowerCycle": self._cycle,
        }
        context.scheduler.register("power.becomes", self._apply_power_state)
        context.scheduler.register("power.restarts", self._reboot)

    def state(self, xname: str) -> str:
        """``on`` or ``off``; a part without a switch is on if one of its power sources is, or if it has none."""
        record = self._table.get(xname)
        if record is not None:
            return record["is"]
        power_sources = self._power_sources.get(xname, ())
        return ON if not power_sources or any(self.state(source) == ON for source in power_sources) else OFF

    def since(self, xname: str) -> float:
        record = self._table.get(xname)
        return record["since"] if record else 0.0

    def state_at(self, xname: str, moment: float) -> str:
        """The state at a recent moment.

        Only the last change is stored, so an earlier moment gives the state before that change.
        """
        record = self._table.get(xname)
        return self.state(xname) if record is None or record["since"] <= moment else record["was"]

    def has_input_power(self, xname: str) -> bool:
        """Whether it is supplied with power; one of its power sources is enough."""
        power_sources = self._power_sources.get(xname, ())
        return not power_sources or any(
            self.state(source) == ON and self.has_input_power(source) for source in power_sources
        )

    def reachable(self, controller: str) -> bool:
        """Whether the controller answers now."""
        return self.controllers.reachable(controller)

    def reset(self, xname: str, action: str, cause: str) -> None:
        """Carries out a POST to Redfish's Reset; raises ``ControllerUnreachable`` or ``ResetRefused``."""
        part = self._machine.part(xname)
        if part is None or action not in RESETS.get(part.type, ()) or _has_no_switch(part):
            raise ResetRefused(f"{xname} has no reset {action}")
        if not self.controllers.answers(part.controller, xname):
            raise ControllerUnreachable(part.controller)
        if part.type in CONTROLLERS:
            self.controllers.restart(xname, cause)
            return
        self._context.log.add("power-order", xname, cause, action=action)
        off_action = "GracefulShutdown" if part.type == "Node" else "ForceOff"
        self._handlers[off_action if action == "Off" else action](xname, cause)

    def reset_from_system(self, node: str, action: str, cause: str) -> None:
        """Shutdown or reboot from the node's operating system, without its controller."""
        self._context.log.add("power-order", node, cause, action=action)
        self._handlers[action](node, cause)

    def _switch_on(self, xname: str, cause: str) -> None:
        if self.state(xname) == OFF:
            self._power_up(xname, self._next_order(xname), cause)

    def _switch_off(self, xname: str, cause: str) -> None:
        number = self._next_order(xname)
        if self.state(xname) == ON:
            self._after(timings.FORCE_OFF, "power.becomes", xname, number, OFF, cause, False)

    def _cycle(self, xname: str, cause: str) -> None:
        number = self._next_order(xname)
        self._after(timings.FORCE_OFF, "power.becomes", xname, number, OFF, cause, True)

    def _shut_down(self, xname: str, cause: str) -> None:
        # Without a running operating system the order has no effect, as on real hardware.
        if self._machine.boot.begin_shutdown(xname):
            self._after(timings.SHUTDOWN, "power.becomes", xname, self._next_order(xname), OFF, cause, False)

    def _restart_gracefully(self, xname: str, cause: str) -> None:
        if self._machine.boot.begin_shutdown(xname):
            self._after(timings.SHUTDOWN, "power.restarts", xname, self._next_order(xname), cause)

    def _restart(self, xname: str, cause: str) -> None:
        if self.state(xname) == ON:
            self._after(timings.FORCE_OFF, "power.restarts", xname, self._next_order(xname), cause)

    def _next_order(self, xname: str) -> int:
        number = int(self._orders.get(xname, 0)) + 1
        self._orders[xname] = number
        return number

    def _after(self, span: tuple[float, float], kind: str, xname: str, number: int, *args: object) -> None:
        wait = self._context.chance(span, kind, xname, number, *args)
        self._context.scheduler.after(wait, kind, xname, number, *args)

    def _power_up(self, xname: str, number: int, cause: str) -> None:
        if self._context.faults.trigger("no-power-on", xname):
            self._context.log.add("power-on-failed", xname, "fault no-power-on")
        else:
            self._after(timings.POWER_ON, "power.becomes", xname, number, ON, cause, False)

    def _apply_power_state(self, xname: str, number: int, state: str, cause: str, switch_on_again: bool) -> None:
        """Applies an order, unless a later order replaced it."""
        if self._orders.get(xname) != number:
            return
        if state == ON and not self.has_input_power(xname):
            self._context.log.add("power-on-failed", xname, "no power to switch on")
            return
        self._set(xname, state, cause)
        if switch_on_again:
            self._power_up(xname, number, cause)

    def _reboot(self, xname: str, number: int, cause: str) -> None:
        """Reboots the node; its power stays on."""
        if self._orders.get(xname) == number:
            self._machine.boot.begin(xname, cause)

    def _set(self, xname: str, state: str, cause: str) -> None:
        previous = self._table[xname]["is"]
        if previous == state:
            return
        self._table[xname] = {"is": state, "since": self._context.clock.now(), "was": previous}
        self._context.log.add(f"power-{state}", xname, cause)
        if state == OFF:
            self._propagate_power_loss(xname)
        else:
            self._propagate_power_gain(xname)
        self._machine.boot.power_changed(xname, state)
        self._context.notify("power", xname, state)

    def _propagate_power_loss(self, xname: str) -> None:
        """Switches off the parts that have no other power source."""
        cause = f"{xname} lost power"
        for consumer in self._consumers(xname):
            if self.has_input_power(consumer):
                continue
            if consumer in self._table:
                self._next_order(consumer)
                self._set(consumer, OFF, cause)
            else:
                self.controllers.lose_power(consumer, cause)

    def _propagate_power_gain(self, xname: str) -> None:
        """Starts the controllers and the parts without a switch that it supplies; other parts wait for an order."""
        for consumer in self._consumers(xname):
            part = self._machine.part(consumer)
            has_another_source = any(
                source != xname and self.state(source) == ON for source in self._power_sources[consumer]
            )
            if part is None or has_another_source:
                continue
            if _has_no_switch(part):
                self._set(consumer, ON, f"{xname} has power")
            else:
                self.controllers.regain_power(consumer)

    def _consumers(self, xname: str) -> tuple[str, ...]:
        part = self._machine.part(xname)
        return part.feeds if part else ()


def _has_no_switch(part: Part) -> bool:
    """Whether the part is a top-of-rack switch: it has no power switch and is on when its outlet is."""
    return part.type == "RouterModule" and part.hardware_class == "River"


def _seed(machine: Machine) -> dict[str, SwitchState]:
    """Nodes are on or off as in the topology, all else is on. Parts share two records, to save memory."""
    on: SwitchState = {"is": ON, "since": 0.0, "was": OFF}
    off: SwitchState = {"is": OFF, "since": 0.0, "was": OFF}
    running = machine.topology.running
    return {
        part.xname: on if part.type != "Node" or part.xname in running else off for part in machine.parts(*SWITCHED)
    }
