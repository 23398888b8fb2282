"""Power status as PCS has it: the answers of all controllers to the last poll. PCS polls every 30 seconds.

Nothing is polled here: what the last poll would have returned follows from the times of the changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypedDict

from csm_emulator.clients.hsm import Component, HsmClient
from csm_emulator.context import Context
from csm_emulator.machine.context import Event
from csm_emulator.machine.parts import Part
from csm_emulator.services.pcs.component_types import BMCS, POWERED, actions_of, operations_for
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

INTERVAL = 30.0
DEFAULT_DOWNTIME = 30.0
"""Seconds that a restart takes without a duration in the fault."""
UNDEFINED = "undefined"


@lru_cache(maxsize=1024)
def _timestamp(moment: float) -> str:
    """Cached, since thousands of components have the time of the same poll."""
    return rfc3339(moment, 9)


class Status(TypedDict):
    xname: str
    powerState: str
    managementState: str
    error: str
    supportedPowerTransitions: list[str] | None
    lastUpdated: str


class Rhythm(TypedDict):
    """The times of the polls: every ``INTERVAL`` seconds from ``since`` on."""

    since: float
    before: float
    """The last poll before ``since``."""


class Polling:
    def __init__(self, context: Context, hsm: HsmClient) -> None:
        self._context = context
        self._hsm = hsm
        self._power = context.machine.power
        self._table: RecordTable[Rhythm] = context.tables.open("pcs.polling")
        if "rhythm" not in self._table:
            # The machine ran before the emulator started, so its components have been polled already.
            self._table["rhythm"] = {"since": context.clock.now(), "before": context.clock.now()}
        self._known: dict[str, Part] = {}
        self._read_at = -1.0
        self._controller_changes: dict[str, float] = {}
        self._power_before_change: dict[str, tuple[float, str]] = {}
        context.machine.watch(self._record_event)

    def restart(self) -> None:
        """The next poll is one interval from now; until then the results of the last poll before are shown."""
        now = self._context.clock.now()
        self._table["rhythm"] = {"since": now + INTERVAL, "before": self.last_poll(now - DEFAULT_DOWNTIME)}

    def last_poll(self, now: float) -> float:
        rhythm = self._table["rhythm"]
        if now < rhythm["since"]:
            return float(rhythm["before"])
        return float(rhythm["since"] + (now - rhythm["since"]) // INTERVAL * INTERVAL)

    def refresh(self) -> None:
        """Reads the components from HSM, at most once for each poll. When HSM fails, the earlier components stay."""
        poll = self.last_poll(self._context.clock.now())
        if poll == self._read_at:
            return
        response = self._hsm.components("stateonly=true")
        if not response.ok:
            self._use_topology()
            return
        components = response.value()
        self._read_at = poll
        if components:
            # PCS takes an empty list for an error of HSM (updateComponentMap).
            self._set_components(components)

    def _use_topology(self) -> None:
        """Stands for what etcd has from before this process: all components of the machine."""
        if self._read_at < 0:
            self._set_components({"ID": xname} for xname in self._context.machine.topology.parts)

    def _set_components(self, components: Iterable[Component]) -> None:
        known_parts, parts = self._known, self._context.machine.topology.parts
        self._known = {}
        for component in components:
            xname = component["ID"]
            part = known_parts.get(xname) or parts.get(xname)
            if part is None or part.type not in POWERED or not part.controller:
                continue
            # A slot that became empty stays; a slot that was empty from the start is left out.
            if xname in known_parts or component.get("State") != "Empty":
                self._known[xname] = part

    def names(self) -> list[str]:
        """Sorted, as etcd orders its keys."""
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
        if not self._controller_answers(part, poll):
            return UNDEFINED
        return self._power_at(part, poll)

    def _power_at(self, part: Part, poll: float) -> str:
        if part.type in BMCS:
            return "on"
        before_change = self._power_before_change.get(part.xname)
        return (
            before_change[1] if before_change and before_change[0] == poll else self._power.state_at(part.xname, poll)
        )

    def available(self, xname: str) -> bool:
        part = self._known.get(xname) or self._context.machine.part(xname)
        return part is not None and self._controller_answers(part, self.last_poll(self._context.clock.now()))

    def statuses(self, xnames: Iterable[str]) -> list[Status]:
        """Of known components; each controller is looked up once."""
        poll = self.last_poll(self._context.clock.now())
        answers: dict[str, bool] = {}
        statuses = []
        for xname in xnames:
            part = self._known[xname]
            if part.controller not in answers:
                answers[part.controller] = self._controller_answers(part, poll)
            statuses.append(self._status(part, poll, answers[part.controller]))
        return statuses

    def _status(self, part: Part, poll: float, answers: bool) -> Status:
        return Status(
            xname=part.xname,
            powerState=self._power_at(part, poll) if answers else UNDEFINED,
            managementState="available" if answers else "unavailable",
            # PCS has the error and does not show it (GetPowerStatus in domain/power-status.go).
            error="",
            supportedPowerTransitions=list(operations_for(actions_of(part))),
            lastUpdated=_timestamp(self._last_change_poll(part, poll)),
        )

    def _controller_answers(self, part: Part, poll: float) -> bool:
        controller = part.controller or part.xname
        answers = self._power.reachable(controller)
        return answers if self._controller_changes.get(controller, 0.0) <= poll else not answers

    def _last_change_poll(self, part: Part, poll: float) -> float:
        """The time of the poll that found the last change of the component or its controller."""
        changes = (self._power.since(part.xname), self._controller_changes.get(part.controller, 0.0))
        changed = max((moment for moment in changes if moment <= poll), default=0.0)
        since = self._table["rhythm"]["since"]
        if changed <= since:
            return min(float(since), poll)
        return float(since - (since - changed) // INTERVAL * INTERVAL)

    def _record_event(self, event: Event) -> None:
        now = self._context.clock.now()
        if event.kind == "controller":
            self._controller_changes[event.xname] = now
        elif event.kind == "power":
            poll = self.last_poll(now)
            # With several changes between two polls, the earlier poll saw the state before the first of them.
            if self._power_before_change.get(event.xname, (-1.0, ""))[0] != poll:
                self._power_before_change[event.xname] = (poll, "off" if event.value == "on" else "on")
