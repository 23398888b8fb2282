"""The heartbeats of components, and the notifications that HSM gets of them.

The machine's own nodes beat every three seconds without any event: the time of a beat is computed when it is needed.
The periodic check reads only components that are late or whose heartbeats a client sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.machine.context import Event
from csm_emulator.services.hbtd.parameters import Params
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

BEAT = 3.0
"""Seconds between two beats of a node (HBTD's API document)."""
STARTED, RESTARTED, LATE, DEAD = "started", "restarted", "late", "dead"
NOTIFICATIONS: Mapping[str, tuple[str, str, str]] = {
    STARTED: ("Ready", "OK", "Heartbeat started"),
    RESTARTED: ("Ready", "OK", "Heartbeat restarted"),
    LATE: ("Ready", "Warning", "Heartbeat stopped -- might be dead"),
    DEAD: ("Standby", "Alert", "Heartbeat stopped -- declared dead"),
}
WARNED, WARNED_BY_GAP = "WN", "WG"


class Heartbeat(TypedDict):
    """The heartbeat of a component: either it beats by itself (``since``), or clients send its beats."""

    since: NotRequired[float]
    received: NotRequired[int]
    """When the last beat came, in seconds since 1970."""
    timestamp: NotRequired[str]
    status: NotRequired[str]
    warned: str
    """``WARNED``, ``WARNED_BY_GAP``, or empty."""


_BEATING_NODE: Heartbeat = {"since": 0.0, "warned": ""}


class Heartbeats:
    def __init__(self, context: Context, params: Params) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._params = params
        running = context.machine.topology.running
        self._records = context.tables.open("hbtd.beats", dict.fromkeys(sorted(running), _BEATING_NODE))
        self._pending: RecordTable[str] = context.tables.open("hbtd.pending")
        self._timer: RecordTable[float] = context.tables.open("hbtd.timer")
        self._watched = {name for name, record in self._records.items() if _needs_check(name, record)}
        self._after_gap = False
        context.scheduler.register("hbtd.check", self._check)
        context.machine.watch(self._on_event)

    def beats(self, name: str) -> bool:
        """Whether the last beat is less than ``errtime`` ago; "might be dead" counts as alive."""
        record = self._records.get(name)
        return record is not None and self._age(record) < self._params.number("Errtime")

    def receive(self, name: str, timestamp: str, status: str) -> None:
        """Store a heartbeat that a client sent for this component."""
        previous = self._records.get(name)
        if previous is not None and previous.get("since") is not None:
            return
        received, warned = int(self._context.clock.now()), _warning_after_beat(previous)
        self._put(name, {"received": received, "timestamp": timestamp, "status": status, "warned": warned})
        if previous is None:
            self._queue_notification(name, STARTED)

    def restarted(self) -> None:
        """After a restart no check ran for a while, and pending notifications are lost."""
        self._params.reset()
        self._pending.clear()
        self._after_gap = True
        for node in self._context.machine.parts("Node"):
            if self._context.machine.boot.sends_heartbeats(node.xname):
                self._start_beating(node.xname)
        self._start_timer()

    def _on_event(self, event: Event) -> None:
        if event.kind != "beat":
            return
        if event.value == "stopped":
            self._stop_beating(event.xname)
        elif not self._is_down():
            self._start_beating(event.xname)

    def _start_beating(self, node: str) -> None:
        previous = self._records.get(node)
        if previous is not None and previous.get("since") is not None:
            return
        self._put(node, {"since": self._context.clock.now(), "warned": _warning_after_beat(previous)})
        if previous is None:
            self._queue_notification(node, STARTED)

    def _stop_beating(self, node: str) -> None:
        record = self._records.get(node)
        if record is not None and record.get("since") is not None:
            received, warned = self._last_beat(record), record["warned"]
            self._put(node, {"received": received, "timestamp": "", "status": "OK", "warned": warned})

    def _put(self, name: str, record: Heartbeat) -> None:
        self._records[name] = record
        if _needs_check(name, record):
            self._watched.add(name)
            self._start_timer()

    def _age(self, record: Heartbeat) -> int:
        return int(self._context.clock.now()) - self._last_beat(record)

    def _last_beat(self, record: Heartbeat) -> int:
        since = record.get("since")
        if since is None:
            return record["received"]
        return int(since + BEAT * ((self._context.clock.now() - since) // BEAT))

    def _queue_notification(self, name: str, notification: str) -> None:
        # The real HBTD also sends names that are no xnames: HSM then refuses the whole bulk at every attempt.
        if hms_type(name):
            self._pending.pop(name, None)
            self._pending[name] = notification
            self._start_timer()

    def _start_timer(self) -> None:
        interval = self._params.number("Interval")
        if "next" in self._timer or interval <= 0:
            return
        self._timer["next"] = next_tick(self._context.clock.now(), interval)
        self._context.scheduler.at(self._timer["next"], "hbtd.check")

    def _check(self) -> None:
        self._timer.pop("next", None)
        if self._is_down():
            return
        for name in sorted(self._watched):
            self._check_record(name)
        self._after_gap = False
        self._report()
        if self._watched or self._pending:
            self._start_timer()

    def _check_record(self, name: str) -> None:
        record = self._records[name]
        age, warned = self._age(record), record["warned"]
        if age >= self._params.number("Errtime"):
            self._overdue(name, record)
        elif age >= self._params.number("Warntime"):
            if not warned:
                self._records[name] = {**record, "warned": WARNED}
                self._queue_notification(name, LATE)
        elif warned == WARNED:
            self._records[name] = {**record, "warned": ""}
            self._queue_notification(name, RESTARTED)
        if not _needs_check(name, self._records.get(name, _BEATING_NODE)):
            self._watched.discard(name)

    def _overdue(self, name: str, record: Heartbeat) -> None:
        if self._after_gap and record.get("since") is None:
            # No heartbeat could arrive during the restart, so it is only late.
            self._records[name] = {**record, "received": int(self._context.clock.now()), "warned": WARNED_BY_GAP}
            self._queue_notification(name, LATE)
            return
        del self._records[name]
        self._watched.discard(name)
        self._queue_notification(name, DEAD)

    def _report(self) -> None:
        """Send pending notifications; those that HSM refuses are sent again at the next check."""
        if not self._pending or self._params.number("Nosm"):
            return
        if self._hsm.ready().status != 200:
            return
        for notification, (state, flag, message) in NOTIFICATIONS.items():
            names = [name for name, pending in self._pending.items() if pending == notification]
            extended_info = {"ID": "", "Message": message, "Flag": ""}
            body = {"ComponentIDs": names, "State": state, "Flag": flag, "ExtendedInfo": extended_info}
            if names and self._hsm.update_states(body).status in (200, 202, 204):
                for name in names:
                    del self._pending[name]

    def _is_down(self) -> bool:
        return self._context.faults.present("service-restart", "hbtd") is not None


def _needs_check(name: str, record: Heartbeat) -> bool:
    """Whether the check must read it: not a node that beats by itself, and no name outside the checked range."""
    return "x0" <= name < "xz" and (record.get("since") is None or record["warned"] != "")


def _warning_after_beat(record: Heartbeat | None) -> str:
    """The warning after a beat: one because of a restart becomes a plain one, so that the check reports recovery."""
    warned = record["warned"] if record else ""
    return WARNED if warned == WARNED_BY_GAP else warned
