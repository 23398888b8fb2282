"""Power status as PCS has it: what every controller said when it was last asked, which is every 30 seconds.

Nothing is asked: what a poll would have seen is told from when things changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypedDict

from csm_emulator.clients.hsm import Component, HsmClient
from csm_emulator.context import Context
from csm_emulator.machine.context import Event
from csm_emulator.machine.parts import Part
from csm_emulator.services.pcs.kinds import BMCS, POWERED, actions_of, operations_for
from csm_emulator.state.clock import rfc3339

INTERVAL = 30.0
AWAY = 30.0
"""How long a restart takes when nobody says otherwise."""
UNDEFINED = "undefined"


@lru_cache(maxsize=1024)
def _stamp(moment: float) -> str:
    """Thousands of components changed with the same poll."""
    return rfc3339(moment, 9)


class Status(TypedDict):
    xname: str
    powerState: str
    managementState: str
    error: str
    supportedPowerTransitions: list[str] | None
    lastUpdated: str


class Polling:
    def __init__(self, context: Context, hsm: HsmClient) -> None:
        self._context = context
        self._hsm = hsm
        self._power = context.machine.power
        self._table = context.tables.open("pcs.polling")
        if "rhythm" not in self._table:
            # The machine ran before our time began: what there is was polled already.
            self._table["rhythm"] = {"since": context.clock.now(), "before": context.clock.now()}
        self._known: dict[str, Part] = {}
        self._read_at = -1.0
        self._controllers: dict[str, float] = {}
        self._before: dict[str, tuple[float, str]] = {}
        context.machine.watch(self._hear)

    def restart(self) -> None:
        """The rhythm begins anew; until its first beat, what was last seen is what there is."""
        now = self._context.clock.now()
        self._table["rhythm"] = {"since": now + INTERVAL, "before": self.last_poll(now - AWAY)}

    def last_poll(self, now: float) -> float:
        rhythm = self._table["rhythm"]
        if now < rhythm["since"]:
            return float(rhythm["before"])
        return float(rhythm["since"] + (now - rhythm["since"]) // INTERVAL * INTERVAL)

    def refresh(self) -> None:
        """Hear from HSM what components there are, once for each poll; without an answer, those of before."""
        poll = self.last_poll(self._context.clock.now())
        if poll == self._read_at:
            return
        response = self._hsm.components("stateonly=true")
        if not response.ok:
            self._recall()
            return
        components = response.value()
        self._read_at = poll
        if components:
            # HSM without any component counts as an error of HSM (updateComponentMap).
            self._know(components)

    def _recall(self) -> None:
        """What etcd has from before this process: everything was there once."""
        if self._read_at < 0:
            self._know({"ID": xname} for xname in self._context.machine.topology.parts)

    def _know(self, components: Iterable[Component]) -> None:
        known, parts = self._known, self._context.machine.topology.parts
        self._known = {}
        for component in components:
            xname = component["ID"]
            part = known.get(xname) or parts.get(xname)
            if part is None or part.type not in POWERED or not part.controller:
                continue
            # A slot that became empty stays; one that is empty when it is first heard of is left out.
            if xname in known or component.get("State") != "Empty":
                self._known[xname] = part

    def names(self) -> list[str]:
        """In the order of etcd's keys."""
        return sorted(self._known)

    def knows(self, xname: str) -> bool:
        return xname in self._known

    def operations(self, xname: str) -> tuple[str, ...]:
        return operations_for(actions_of(self._known.get(xname)))

    def power(self, xname: str) -> str:
        """``on``, ``off`` or ``undefined``, as of the last poll."""
        part = self._known.get(xname) or self._context.machine.part(xname)
        if part is None:
            return UNDEFINED
        poll = self.last_poll(self._context.clock.now())
        if not self._answered(part, poll):
            return UNDEFINED
        return self._power_at(part, poll)

    def _power_at(self, part: Part, poll: float) -> str:
        if part.type in BMCS:
            return "on"
        found = self._before.get(part.xname)
        return found[1] if found and found[0] == poll else self._power.state_at(part.xname, poll)

    def available(self, xname: str) -> bool:
        part = self._known.get(xname) or self._context.machine.part(xname)
        return part is not None and self._answered(part, self.last_poll(self._context.clock.now()))

    def statuses(self, xnames: Iterable[str]) -> list[Status]:
        """Of those that it knows; each controller is looked at once."""
        poll = self.last_poll(self._context.clock.now())
        answered: dict[str, bool] = {}
        told = []
        for xname in xnames:
            part = self._known[xname]
            if part.controller not in answered:
                answered[part.controller] = self._answered(part, poll)
            told.append(self._status(part, poll, answered[part.controller]))
        return told

    def _status(self, part: Part, poll: float, answered: bool) -> Status:
        return Status(
            xname=part.xname,
            powerState=self._power_at(part, poll) if answered else UNDEFINED,
            managementState="available" if answered else "unavailable",
            # The real one knows the error and leaves it out (GetPowerStatus in domain/power-status.go).
            error="",
            supportedPowerTransitions=list(operations_for(actions_of(part))),
            lastUpdated=_stamp(self._seen(part, poll)),
        )

    def _answered(self, part: Part, poll: float) -> bool:
        controller = part.controller or part.xname
        answers = self._power.reachable(controller)
        return answers if self._controllers.get(controller, 0.0) <= poll else not answers

    def _seen(self, part: Part, poll: float) -> float:
        """The poll that saw the last change that any poll saw."""
        changes = (self._power.since(part.xname), self._controllers.get(part.controller, 0.0))
        changed = max((moment for moment in changes if moment <= poll), default=0.0)
        since = self._table["rhythm"]["since"]
        if changed <= since:
            return min(float(since), poll)
        return float(since - (since - changed) // INTERVAL * INTERVAL)

    def _hear(self, event: Event) -> None:
        now = self._context.clock.now()
        if event.kind == "controller":
            self._controllers[event.xname] = now
        elif event.kind == "power":
            poll = self.last_poll(now)
            # Off and on again between two polls: what the first of them saw is what was before both.
            if self._before.get(event.xname, (-1.0, ""))[0] != poll:
                self._before[event.xname] = (poll, "off" if event.value == "on" else "on")
