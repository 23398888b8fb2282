"""The transfer of documents to the switches: not at once, but in the next sweep of the Fabric Manager.

A sweep is about every eleven seconds, like that over the switches' availability; how it distributes policies is not
published. It does not compare the state of a port with its policies: only the change of a document configures it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PlannedPort, PlannedSwitch
from csm_emulator.machine.fabric.ports import PortSettings
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

SWEEP_INTERVAL = 11.0
PUSH_DELAY = (0.2, 3.0)
"""Shortest and longest time in seconds from the start of a sweep until a switch is configured."""
SLOW_DELAY = 60.0
SERVICE = "fabric-manager"
_KIND = "fabric-manager.push"


class SwitchSync:
    def __init__(self, context: Context, target_state: Callable[[PlannedPort], PortSettings]) -> None:
        self._context = context
        self._target_state = target_state
        self._fabric = context.machine.fabric
        self._due: RecordTable[float] = context.tables.open("fabric-manager.due")
        """Port → time at which its switch is to be configured."""
        context.scheduler.register(_KIND, self._push)

    def schedule(self, ports: Iterable[PlannedPort]) -> None:
        """Schedule the configuration of these ports; they get the settings of the documents at that time."""
        moments: set[tuple[str, float]] = set()
        for port in ports:
            slow = self.delay(port.xname)
            planned = self._due.get(port.xname)
            if planned is not None and not slow:
                continue
            due = self._next_round(port.switch) + slow
            self._due[port.xname] = due if planned is None else max(due, planned)
            moments.add((port.switch.xname, self._due[port.xname]))
        self._schedule_at(moments)

    def delay(self, *ports: str) -> float:
        fault = self._context.faults.trigger("slow-barrier", *ports)
        return float(fault.facts.get("seconds", SLOW_DELAY)) if fault else 0.0

    def reaches(self, switch: PlannedSwitch) -> bool:
        """Whether the agent on the switch is reachable."""
        power = self._context.machine.power
        return self._fabric.powered(switch.xname) and power.reachable(switch.controller)

    def _next_round(self, switch: PlannedSwitch) -> float:
        start = next_tick(self._context.clock.now(), SWEEP_INTERVAL)
        return start + self._context.random.between(*PUSH_DELAY, _KIND, switch.xname, start)

    def _schedule_at(self, moments: Iterable[tuple[str, float]]) -> None:
        for switch, due in sorted(moments):
            self._context.scheduler.at(due, _KIND, switch, due)

    def _push(self, name: str, due: float) -> None:
        """Configure the ports that are due now; those of an unreachable switch wait for the next sweep."""
        switch = self._fabric.plan.switches[name]
        ports = [port for port in self._fabric.plan.ports_of(name) if self._due.get(port.xname) == due]
        if not self.reaches(switch) or self._context.faults.present("service-restart", SERVICE):
            next_round = self._next_round(switch)
            for port in ports:
                self._due[port.xname] = next_round
            self._schedule_at([(name, next_round)] if ports else [])
            return
        for port in ports:
            del self._due[port.xname]
            if self._context.faults.trigger("fm-no-effect", port.xname):
                self._context.log.add("port-push-lost", port.xname, "fault fm-no-effect")
            else:
                self._fabric.configure(port.xname, "fabric-manager policy", **self._target_state(port))
