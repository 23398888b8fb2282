"""The ground truth alone: a machine without services, its clock standing still."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csm_emulator.machine.context import Event, Means
from csm_emulator.machine.faults.faults import Fault, Faults
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Topology
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import TruthLog
from csm_emulator.state.file import StateFile
from csm_emulator.state.random import Dice
from csm_emulator.state.scheduler import Agenda
from csm_emulator.state.tables import Shelves

MOMENT = 1_800_000_000.0
SCRIPT = "#!ipxe\nkernel --name kernel http://rgw/kernel root=live console=ttyS0\ninitrd http://rgw/initrd\nboot\n"
EVERYTHING = 1_000_000


class Bare:
    def __init__(self, path: Path, topology: Topology, seed: int = 1) -> None:
        self.path = path
        self.kept = StateFile(path)
        self.shelves = Shelves(self.kept.rows())
        self._now = self.shelves.open("clock")
        self.clock = Clock(self._now.get("now", MOMENT), 0.0, lambda: 0.0)
        self.log = TruthLog(self.clock, self.kept)
        self.agenda = Agenda(self.shelves, self.clock)
        dice = Dice(seed)
        self.faults = Faults(self.shelves, dice, self.log)
        self.machine = Machine(topology, Means(self.clock, self.agenda, self.shelves, dice, self.faults, self.log))
        self.power, self.boot = self.machine.power, self.machine.boot
        self.boot.boot_script = lambda _: SCRIPT
        self.events: list[Event] = []
        self.machine.watch(self.events.append)

    def order(self, xname: str, action: str) -> None:
        self.power.reset(xname, action, "test")

    def step(self, seconds: float) -> None:
        goal = self.clock.reach() + seconds
        while self.agenda.run(goal, 100) == 100:
            pass
        self.clock.leap(goal)

    def fault(self, kind: str, targets: str, **more: Any) -> Fault:
        return self.faults.set(Fault(self.faults.new_id(), kind, targets, **more))

    def told(self, kind: str, xname: str) -> list[str]:
        return [event.value for event in self.events if (event.kind, event.xname) == (kind, xname)]

    def lines(self) -> list[dict[str, Any]]:
        return self.log.after(0, EVERYTHING)

    def contents(self) -> dict[str, list[tuple[str, Any]]]:
        """All that is on the shelves, in order."""
        return {name: list(shelf.items()) for name, shelf in self.shelves._shelves.items() if name != "clock"}

    def shelf(self, name: str) -> dict[str, Any]:
        return dict(self.shelves._shelves[name])

    def to_come(self) -> list[list[Any]]:
        """Moment, kind and arguments of all that is on the agenda."""
        return list(self.shelf("agenda").values())

    def keep(self) -> None:
        self._now["now"] = self.clock.reach()
        self.kept.write(self.shelves.take_changes(), self.log.take_unwritten())

    def close(self) -> None:
        self.kept.close()
