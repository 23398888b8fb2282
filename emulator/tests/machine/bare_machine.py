"""The machine alone: without services, and with a stopped clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csm_emulator.machine.context import Event, MachineContext
from csm_emulator.machine.faults.faults import Fault, Faults
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Topology
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.file import StateFile
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTable, RecordTables

MOMENT = 1_800_000_000.0
SCRIPT = "#!ipxe\nkernel --name kernel http://rgw/kernel root=live console=ttyS0\ninitrd http://rgw/initrd\nboot\n"
EVERYTHING = 1_000_000


class BareMachine:
    def __init__(self, path: Path, topology: Topology, seed: int = 1) -> None:
        self.path = path
        self.kept = StateFile(path)
        self.tables = RecordTables(self.kept.rows())
        self._now: RecordTable[float] = self.tables.open("clock")
        self.clock = Clock(self._now.get("now", MOMENT), 0.0, lambda: 0.0)
        self.log = EventLog(self.clock, self.kept)
        self.scheduler = Scheduler(self.tables, self.clock)
        random = SeededRandom(seed)
        self.faults = Faults(self.tables, random, self.log)
        self.machine = Machine(
            topology, MachineContext(self.clock, self.scheduler, self.tables, random, self.faults, self.log)
        )
        self.power, self.boot = self.machine.power, self.machine.boot
        self.boot.boot_script = lambda _: SCRIPT
        self.events: list[Event] = []
        self.machine.watch(self.events.append)

    def order(self, xname: str, action: str) -> None:
        self.power.reset(xname, action, "test")

    def step(self, seconds: float) -> None:
        goal = self.clock.unheld_now() + seconds
        while self.scheduler.run(goal, 100) == 100:
            pass
        self.clock.jump_to(goal)

    def fault(self, kind: str, targets: str, **more: Any) -> Fault:
        return self.faults.set(Fault(self.faults.new_id(), kind, targets, **more))

    def event_values(self, kind: str, xname: str) -> list[str]:
        return [event.value for event in self.events if (event.kind, event.xname) == (kind, xname)]

    def lines(self) -> list[dict[str, Any]]:
        return self.log.after(0, EVERYTHING)

    def contents(self) -> dict[str, list[tuple[str, Any]]]:
        """All rows of the tables, in order."""
        return {name: list(table.items()) for name, table in self.tables._tables.items() if name != "clock"}

    def table(self, name: str) -> dict[str, Any]:
        return dict(self.tables._tables[name])

    def scheduled_actions(self) -> list[list[Any]]:
        """Moment, kind and arguments of every scheduled action."""
        return list(self.table("scheduler").values())

    def keep(self) -> None:
        self._now["now"] = self.clock.unheld_now()
        self.kept.write(self.tables.take_changes(), self.log.take_unwritten())

    def close(self) -> None:
        self.kept.close()
