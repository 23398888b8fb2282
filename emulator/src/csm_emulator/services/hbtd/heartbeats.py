"""Who beats, since when, and what HSM has to hear of it.

The machine's own nodes beat every three seconds by agreement: nothing happens for a beat, its moment is computed when
somebody asks. Only those that are late, or that a client beats for, are looked at by the checker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.machine.context import Event
from csm_emulator.services.hbtd.parameters import Params
from csm_emulator.state.clock import next_tick

BEAT = 3.0
"""Seconds between two beats of a node (HBTD's API document)."""
STARTED, RESTARTED, LATE, DEAD = "started", "restarted", "late", "dead"
NEWS: Mapping[str, tuple[str, str, str]] = {
    STARTED: ("Ready", "OK", "Heartbeat started"),
    RESTARTED: ("Ready", "OK", "Heartbeat restarted"),
    LATE: ("Ready", "Warning", "Heartbeat stopped -- might be dead"),
    DEAD: ("Standby", "Alert", "Heartbeat stopped -- declared dead"),
}
WARNED, WARNED_BY_GAP = "WN", "WG"
SM_PATH = "/hsm/v2/State/Components/BulkStateData"
_OWN: dict[str, Any] = {"since": 0.0, "warned": ""}


class Heartbeats:
    def __init__(self, context: Context, params: Params) -> None:
        self._context = context
        self._params = params
        running = context.machine.topology.running
        self._records = context.tables.open("hbtd.beats", dict.fromkeys(sorted(running), _OWN))
        self._pending = context.tables.open("hbtd.pending")
        self._timer = context.tables.open("hbtd.timer")
        self._watched = {name for name, record in self._records.items() if _wants_looking(name, record)}
        self._gap = False
        context.scheduler.register("hbtd.check", self._check)
        context.machine.watch(self._hear)

    def beats(self, name: str) -> bool:
        """Whether the last beat is less than ``errtime`` ago; "might be dead" counts as alive."""
        record = self._records.get(name)
        return record is not None and self._age(record) < self._params.number("Errtime")

    def receive(self, name: str, timestamp: str, status: str) -> None:
        """A client beats for this component."""
        before = self._records.get(name)
        if before is not None and before.get("since") is not None:
            return
        said = {"received": int(self._context.clock.now()), "timestamp": timestamp, "status": status}
        self._put(name, {**said, "warned": _after_beat(before)})
        if before is None:
            self._tell(name, STARTED)

    def restarted(self) -> None:
        """Nobody looked for a while, and what was to be told is forgotten."""
        self._params.reset()
        self._pending.clear()
        self._gap = True
        for node in self._context.machine.parts("Node"):
            if self._context.machine.boot.beating(node.xname):
                self._begin(node.xname)
        self._arm()

    def _hear(self, event: Event) -> None:
        if event.kind != "beat":
            return
        if event.value == "stopped":
            self._cease(event.xname)
        elif not self._away():
            self._begin(event.xname)

    def _begin(self, node: str) -> None:
        before = self._records.get(node)
        if before is not None and before.get("since") is not None:
            return
        self._put(node, {"since": self._context.clock.now(), "warned": _after_beat(before)})
        if before is None:
            self._tell(node, STARTED)

    def _cease(self, node: str) -> None:
        record = self._records.get(node)
        if record is not None and record.get("since") is not None:
            said = {"received": self._last(record), "timestamp": "", "status": "OK"}
            self._put(node, {**said, "warned": record["warned"]})

    def _put(self, name: str, record: dict[str, Any]) -> None:
        self._records[name] = record
        if _wants_looking(name, record):
            self._watched.add(name)
            self._arm()

    def _age(self, record: Mapping[str, Any]) -> int:
        return int(self._context.clock.now()) - self._last(record)

    def _last(self, record: Mapping[str, Any]) -> int:
        since = record.get("since")
        if since is None:
            return int(record["received"])
        return int(since + BEAT * ((self._context.clock.now() - since) // BEAT))

    def _tell(self, name: str, news: str) -> None:
        # The real one sends what is no xname too: HSM then refuses the whole bulk, again and again, for everybody.
        if hms_type(name):
            self._pending.pop(name, None)
            self._pending[name] = news
            self._arm()

    def _arm(self) -> None:
        interval = self._params.number("Interval")
        if "next" in self._timer or interval <= 0:
            return
        self._timer["next"] = next_tick(self._context.clock.now(), interval)
        self._context.scheduler.at(self._timer["next"], "hbtd.check")

    def _check(self) -> None:
        self._timer.pop("next", None)
        if self._away():
            return
        for name in sorted(self._watched):
            self._look(name)
        self._gap = False
        self._report()
        if self._watched or self._pending:
            self._arm()

    def _look(self, name: str) -> None:
        record = self._records[name]
        age, warned = self._age(record), record["warned"]
        if age >= self._params.number("Errtime"):
            self._overdue(name, record)
        elif age >= self._params.number("Warntime"):
            if not warned:
                self._records[name] = {**record, "warned": WARNED}
                self._tell(name, LATE)
        elif warned == WARNED:
            self._records[name] = {**record, "warned": ""}
            self._tell(name, RESTARTED)
        if not _wants_looking(name, self._records.get(name, _OWN)):
            self._watched.discard(name)

    def _overdue(self, name: str, record: dict[str, Any]) -> None:
        if self._gap and record.get("since") is None:
            # Nobody listened: it gets the benefit of the doubt once.
            self._records[name] = {**record, "received": int(self._context.clock.now()), "warned": WARNED_BY_GAP}
            self._tell(name, LATE)
            return
        del self._records[name]
        self._watched.discard(name)
        self._tell(name, DEAD)

    def _report(self) -> None:
        """What HSM does not take is told again at the next check."""
        if not self._pending or self._params.number("Nosm"):
            return
        if self._context.mesh.ask("smd", "GET", "/hsm/v2/service/ready").status != 200:
            return
        for news, (state, flag, message) in NEWS.items():
            names = [name for name, each in self._pending.items() if each == news]
            about = {"ID": "", "Message": message, "Flag": ""}
            body = {"ComponentIDs": names, "State": state, "Flag": flag, "ExtendedInfo": about}
            if names and self._context.mesh.ask("smd", "PATCH", SM_PATH, body).status in (200, 202, 204):
                for name in names:
                    del self._pending[name]

    def _away(self) -> bool:
        return self._context.faults.present("service-restart", "hbtd") is not None


def _wants_looking(name: str, record: Mapping[str, Any]) -> bool:
    """A node that beats by itself is late for nobody; other names than the checker's range are never checked."""
    return "x0" <= name < "xz" and (record.get("since") is None or record["warned"] != "")


def _after_beat(record: Mapping[str, Any] | None) -> str:
    """Had it been warned of for a gap, the checker shall find a plain warning, and say that it is back."""
    warned = str(record["warned"]) if record else ""
    return WARNED if warned == WARNED_BY_GAP else warned
