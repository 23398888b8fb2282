"""What the machine's own rooms work with, and how they tell what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from canton.emulator.machine.agenda import Agenda
from canton.emulator.machine.clock import Clock
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.faults import Faults
from canton.emulator.machine.shelves import Shelves
from canton.emulator.machine.truth_log import TruthLog


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
class Means:
    clock: Clock
    agenda: Agenda
    shelves: Shelves
    dice: Dice
    faults: Faults
    log: TruthLog
    watchers: list[Watcher] = field(default_factory=list)

    def tell(self, kind: str, xname: str, value: str) -> None:
        event = Event(kind, xname, value)
        for watcher in self.watchers:
            watcher(event)

    def chance(self, span: tuple[float, float], *about: object) -> float:
        return self.dice.between(*span, *about)
