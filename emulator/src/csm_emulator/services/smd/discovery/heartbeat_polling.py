"""SMD polls nodes whose heartbeat stopped over Redfish, in case the event that they went off was lost.

The first poll is after 30 s, the next every 10 s, until the state changes. (cmd/smd/state-change.go, doPollRFState)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.smd.components.state_changes import set_state
from csm_emulator.services.smd.database import Hsm
from csm_emulator.state.tables import RecordTable

FIRST_POLL, POLL_INTERVAL = 30.0, 10.0
KIND = "smd.polled"


class HeartbeatPolling:
    """One timer for all nodes in Standby, while there are any."""

    def __init__(self, hsm: Hsm, nodes: RecordTable[float], timer: RecordTable[float]) -> None:
        self._hsm = hsm
        self._nodes = nodes
        """Node → time of its first poll."""
        self._timer = timer

    def on_change(self, xnames: Sequence[str], change: Mapping[str, Json]) -> None:
        if change.get("State") == "Standby":
            self._begin([xname for xname in xnames if hms_type(xname) == "Node"])
        elif "State" in change:
            for xname in xnames:
                self._nodes.pop(xname, None)

    def _begin(self, xnames: Sequence[str]) -> None:
        for xname in xnames:
            self._nodes[xname] = self._hsm.context.clock.now() + FIRST_POLL
        if xnames and not self._timer:
            self._start_timer(FIRST_POLL)

    def _start_timer(self, seconds: float) -> None:
        self._timer["at"] = self._hsm.context.clock.now() + seconds
        self._hsm.context.scheduler.after(seconds, KIND)

    def poll(self) -> None:
        now = self._hsm.context.clock.now()
        for xname, first_poll in list(self._nodes.items()):
            if not self._hsm.has_component(xname):
                del self._nodes[xname]
            elif first_poll <= now and self._is_off(xname):
                set_state(self._hsm, [xname], "Off", "OK")
        if self._nodes:
            self._start_timer(POLL_INTERVAL)
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
    polling = HeartbeatPolling(hsm, hsm.context.tables.open("smd.polls"), hsm.context.tables.open("smd.polls.timer"))
    hsm.context.scheduler.register(KIND, polling.poll)
    hsm.change_listeners.append(polling.on_change)
