"""What the machine's own rooms work with, and how they tell what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from csm_emulator.machine.faults.faults import Faults
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTables


@dataclass(frozen=True, slots=True)
class Event:
    """Something became so, now.

    ``power`` on or off · ``stage`` of a node's boot · ``beat`` started or stopped (the node's heartbeat) ·
    ``controller`` up or down (a BMC began or ceased to answer).
    """

    kind: str
    xname: str
    value: str


Watcher = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class MachineContext:
    clock: Clock
    scheduler: Scheduler
    tables: RecordTables
    random: SeededRandom
    faults: Faults
    log: EventLog
    watchers: list[Watcher] = field(default_factory=list)

    def notify(self, kind: str, xname: str, value: str) -> None:
        event = Event(kind, xname, value)
        for watcher in self.watchers:
            watcher(event)

    def chance(self, span: tuple[float, float], *about: object) -> float:
        return self.random.between(*span, *about)
