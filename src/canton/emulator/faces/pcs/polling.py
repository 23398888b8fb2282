"""Power status as PCS has it: what every controller said when it was last asked, which is every 30 seconds.

Nothing is asked: what a poll would have seen is told from when things changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypedDict

from canton.emulator.faces.pcs.kinds import BMCS, POWERED, actions_of, operations_for
from canton.emulator.machine.clock import rfc3339
from canton.emulator.machine.means import Event
from canton.emulator.machine.parts import Part
from canton.emulator.world import World

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
    def __init__(self, world: World) -> None:
        self._world = world
        self._power = world.machine.power
        self._shelf = world.shelves.open("pcs.polling")
        if "rhythm" not in self._shelf:
            # The machine ran before our time began: what there is was polled already.
            self._shelf["rhythm"] = {"since": world.clock.now(), "before": world.clock.now()}
        self._known: dict[str, Part] = {}
        self._read_at = -1.0
        self._controllers: dict[str, float] = {}
        world.machine.watch(self._hear)

    def restart(self) -> None:
        """The rhythm begins anew; until its first beat, what was last seen is what there is."""
        now = self._world.clock.now()
        self._shelf["rhythm"] = {"since": now + INTERVAL, "before": self.last_poll(now - AWAY)}

    def last_poll(self, now: float) -> float:
        rhythm = self._shelf["rhythm"]
        if now < rhythm["since"]:
            return float(rhythm["before"])
        return float(rhythm["since"] + (now - rhythm["since"]) // INTERVAL * INTERVAL)

    def refresh(self) -> None:
        """Hear from HSM what components there are, once for each poll; without an answer, those of before."""
        poll = self.last_poll(self._world.clock.now())
        if poll == self._read_at:
            return
        reply = self._world.mesh.ask("smd", "GET", "/hsm/v2/State/Components?stateonly=true")
        if not reply.ok:
            return
        components = reply.json().get("Components") or []
        self._read_at = poll
        if components:
            # HSM without any component counts as an error of HSM (updateComponentMap).
            self._know(components)

    def _know(self, components: Iterable[dict[str, str]]) -> None:
        known, parts = self._known, self._world.machine.topology.parts
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
        return operations_for(tuple(actions_of(self._known.get(xname))))

    def power(self, xname: str) -> str:
        """``on``, ``off`` or ``undefined``, as of the last poll."""
        part = self._known.get(xname) or self._world.machine.part(xname)
        if part is None:
            return UNDEFINED
        poll = self.last_poll(self._world.clock.now())
        if not self._answered(part, poll):
            return UNDEFINED
        return "on" if part.type in BMCS else self._power.state_at(xname, poll)

    def available(self, xname: str) -> bool:
        part = self._known.get(xname) or self._world.machine.part(xname)
        return part is not None and self._answered(part, self.last_poll(self._world.clock.now()))

    def status(self, xname: str) -> Status:
        power = self.power(xname)
        return Status(
            xname=xname,
            powerState=power,
            managementState="unavailable" if power == UNDEFINED else "available",
            # The real one knows the error and leaves it out (GetPowerStatus in domain/power-status.go).
            error="",
            supportedPowerTransitions=list(self.operations(xname)),
            lastUpdated=_stamp(self._seen(self._known[xname])),
        )

    def _answered(self, part: Part, poll: float) -> bool:
        controller = part.controller or part.xname
        answers = self._power.reachable(controller)
        return answers if self._controllers.get(controller, 0.0) <= poll else not answers

    def _seen(self, part: Part) -> float:
        """The poll that saw the last change that any poll saw."""
        poll = self.last_poll(self._world.clock.now())
        changes = (self._power.since(part.xname), self._controllers.get(part.controller, 0.0))
        changed = max((moment for moment in changes if moment <= poll), default=0.0)
        since = self._shelf["rhythm"]["since"]
        if changed <= since:
            return min(float(since), poll)
        return float(since - (since - changed) // INTERVAL * INTERVAL)

    def _hear(self, event: Event) -> None:
        if event.kind == "controller":
            self._controllers[event.xname] = self._world.clock.now()
