"""Nodes whose heartbeat stopped are asked over Redfish whether they are off, in case the event was lost.

First after 30 seconds, then every 10, until the state is another. (cmd/smd/state-change.go, doPollRFState)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.smd.components.state_changes import set_state
from csm_emulator.services.smd.database import Hsm
from csm_emulator.state.tables import RecordTable

FIRST, AGAIN = 30.0, 10.0
KIND = "smd.polled"


class Polling:
    """One timer for all of them, while there are any."""

    def __init__(self, hsm: Hsm, asked: RecordTable, timer: RecordTable) -> None:
        self._hsm = hsm
        self._asked = asked
        """Node → when to ask it first."""
        self._timer = timer

    def note(self, xnames: Sequence[str], change: Mapping[str, Json]) -> None:
        if change.get("State") == "Standby":
            self._begin([xname for xname in xnames if hms_type(xname) == "Node"])
        elif "State" in change:
            for xname in xnames:
                self._asked.pop(xname, None)

    def _begin(self, xnames: Sequence[str]) -> None:
        for xname in xnames:
            self._asked[xname] = self._hsm.context.clock.now() + FIRST
        if xnames and not self._timer:
            self._wait(FIRST)

    def _wait(self, seconds: float) -> None:
        self._timer["at"] = self._hsm.context.clock.now() + seconds
        self._hsm.context.scheduler.after(seconds, KIND)

    def poll(self) -> None:
        now = self._hsm.context.clock.now()
        for xname, first in list(self._asked.items()):
            if not self._hsm.known(xname):
                del self._asked[xname]
            elif first <= now and self._is_off(xname):
                set_state(self._hsm, [xname], "Off", "OK")
        if self._asked:
            self._wait(AGAIN)
        else:
            self._timer.clear()

    def _is_off(self, xname: str) -> bool:
        machine = self._hsm.context.machine
        if xname not in self._hsm.inventory.component_endpoints or self._hsm.context.faults.present(
            "stale-inventory", xname
        ):
            return False
        return machine.power.reachable(machine.controller(xname)) and machine.power.state(xname) == "off"


def begin(hsm: Hsm) -> None:
    polling = Polling(hsm, hsm.context.tables.open("smd.polls"), hsm.context.tables.open("smd.polls.timer"))
    hsm.context.scheduler.register(KIND, polling.poll)
    hsm.notices.append(polling.note)
