"""How documents come to the switches: not at once, but when the Fabric Manager next goes round.

It goes round about every eleven seconds, as its sweep over the switches' availability does; how it brings policies out
is not published. It does not look whether a port still is as it was told: only a change of a document tells it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PortPlace, SwitchPlace
from csm_emulator.state.clock import next_tick

SWEEP = 11.0
ON_THE_WAY = (0.2, 3.0)
"""From the beginning of a round until a switch has its orders."""
SLOW = 60.0
SERVICE = "fabric-manager"
_KIND = "fabric-manager.push"


class Pushing:
    def __init__(self, context: Context, wanted: Callable[[PortPlace], dict[str, Any]]) -> None:
        self._context = context
        self._wanted = wanted
        self._fabric = context.machine.fabric
        self._due = context.tables.open("fabric-manager.due")
        """By port, when the switch is to hear of it."""
        context.scheduler.register(_KIND, self._push)

    def begin(self, ports: Iterable[PortPlace]) -> None:
        """Put on for each switch of these ports: the documents of then are what it gets."""
        moments: set[tuple[str, float]] = set()
        for port in ports:
            slow = self.delay(port.xname)
            waits = self._due.get(port.xname)
            if waits is not None and not slow:
                continue
            due = self._next_round(port.switch) + slow
            self._due[port.xname] = due if waits is None else max(due, waits)
            moments.add((port.switch.xname, self._due[port.xname]))
        self._put_on(moments)

    def delay(self, *ports: str) -> float:
        fault = self._context.faults.strikes("slow-barrier", *ports)
        return float(fault.facts.get("seconds", SLOW)) if fault else 0.0

    def reaches(self, switch: SwitchPlace) -> bool:
        """Whether the agent on the switch hears of anything."""
        power = self._context.machine.power
        return self._fabric.powered(switch.xname) and power.reachable(switch.controller)

    def _next_round(self, switch: SwitchPlace) -> float:
        start = next_tick(self._context.clock.now(), SWEEP)
        return start + self._context.random.between(*ON_THE_WAY, _KIND, switch.xname, start)

    def _put_on(self, moments: Iterable[tuple[str, float]]) -> None:
        for switch, due in sorted(moments):
            self._context.scheduler.at(due, _KIND, switch, due)

    def _push(self, name: str, due: float) -> None:
        """Bring out what is due now; what cannot be brought out waits for the next round."""
        switch = self._fabric.plan.switches[name]
        ports = [port for port in self._fabric.plan.ports_of(name) if self._due.get(port.xname) == due]
        if not self.reaches(switch) or self._context.faults.present("service-restart", SERVICE):
            again = self._next_round(switch)
            for port in ports:
                self._due[port.xname] = again
            self._put_on([(name, again)] if ports else [])
            return
        for port in ports:
            del self._due[port.xname]
            if self._context.faults.strikes("fm-no-effect", port.xname):
                self._context.log.add("port-push-lost", port.xname, "fault fm-no-effect")
            else:
                self._fabric.configure(port.xname, "fabric-manager policy", **self._wanted(port))
