"""What the parts of the machine and the services share: clock, scheduler, tables, faults, log, and events."""

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
    """A change of state, at this moment.

    ``power`` on or off · ``stage`` of a node's boot · ``beat`` started or stopped (the node's heartbeat) ·
    ``controller`` up or down (a BMC started or stopped answering).
    """

    kind: str
    xname: str
    value: str


Watcher = Callable[[Event], None]


@dataclass(slots=True)
class MachineContext:
    """What a part of the machine is constructed with; in an emulator it is the ``Context`` of the services."""

    clock: Clock
    scheduler: Scheduler
    tables: RecordTables
    random: SeededRandom
    faults: Faults
    log: EventLog
    watchers: list[Watcher] = field(init=False, default_factory=list)

    def notify(self, kind: str, xname: str, value: str) -> None:
        event = Event(kind, xname, value)
        for watcher in self.watchers:
            watcher(event)

    def chance(self, span: tuple[float, float], *about: object) -> float:
        return self.random.between(*span, *about)
