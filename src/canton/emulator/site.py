"""Puts a machine and its faces together; the only place of the emulator that constructs things."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from canton.emulator import faces
from canton.emulator.machine.agenda import Agenda
from canton.emulator.machine.clock import Clock
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.faults import Faults
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.means import Means
from canton.emulator.machine.parts import Topology
from canton.emulator.machine.shelves import Shelves
from canton.emulator.machine.state_file import StateFile
from canton.emulator.machine.truth_log import TruthLog
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.mesh import Mesh
from canton.emulator.wire.routes import Face, Router
from canton.emulator.world import World

AT_ONCE = 500
"""So many things that are due are done before requests get a turn."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a machine begins, where no state says so already."""

    topology: Topology
    seed: int = 1
    speed: float = 1.0
    moment: float | None = None
    """Where virtual time begins; now, when not said."""


class Site:
    """A machine with its services, in one process, without a network: what listeners and tests talk to."""

    def __init__(self, start: Start, kept: StateFile, post: Callable[[str, Json], None] | None = None) -> None:
        self.kept = kept
        self.shelves = Shelves(kept.rows())
        self._clock_shelf = self.shelves.open("clock")
        self.clock = self._open_clock(start)
        self.dice = Dice(start.seed)
        self.log = TruthLog(self.clock, kept)
        self.agenda = Agenda(self.shelves, self.clock)
        self.faults = Faults(self.shelves, self.dice, self.log)
        means = Means(self.clock, self.agenda, self.shelves, self.dice, self.faults, self.log)
        self.machine = Machine(start.topology, means)
        self.mesh = Mesh(self.ask)
        self.world = World(
            self.machine,
            self.clock,
            self.agenda,
            self.shelves,
            self.dice,
            self.faults,
            self.log,
            self.mesh,
            post or _drop,
        )
        self.faces: dict[str, Face] = {face.name: face for face in open_faces(self.world)}
        self._routers = {name: Router(face.routes) for name, face in self.faces.items()}
        self.machine.boot.boot_script = self._boot_script

    def _open_clock(self, start: Start) -> Clock:
        known = self._clock_shelf.get("now")
        begin = known["moment"] if known else (time.time() if start.moment is None else start.moment)
        return Clock(begin, known["speed"] if known else start.speed, time.monotonic)

    def ask(self, service: str, call: Call) -> Reply:
        """One request to one service, inside the cluster."""
        face = self.faces.get(service)
        if face is None or self.faults.present("service-restart", service):
            return Reply(503, b"no healthy upstream", "text/plain")
        return self._routers[service].answer(call, face)

    def catch_up(self, most: int = AT_ONCE) -> bool:
        """Do what is due by now; whether nothing is left."""
        return self.agenda.run(self.clock.reach(), most) < most

    def step(self, seconds: float, most: int = AT_ONCE) -> bool:
        """Move time that stands still; whether it got there. Call again with the rest when it did not."""
        goal = self.clock.reach() + seconds
        if self.agenda.run(goal, most) == most:
            return False
        self.clock.leap(goal)
        return True

    def keep(self) -> None:
        """Write down what changed since the last time."""
        self._clock_shelf["now"] = {"moment": self.clock.reach(), "speed": self.clock.speed}
        self.kept.write(self.shelves.take_changes(), self.log.take_unwritten())

    def _boot_script(self, node: str) -> str | None:
        nic = next((nic for nic in self.machine.nics(node) if nic.network == "NMN"), None)
        if nic is None:
            return None
        reply = self.mesh.ask("bss", "GET", f"/boot/v1/bootscript?mac={nic.mac}", peer=nic.address)
        return reply.body.decode() if reply.ok else None


def _drop(url: str, body: Json) -> None:
    """Without a network nobody hears of it."""


def open_faces(world: World) -> Iterable[Face]:
    """Every folder of ``faces`` that has a ``face.py``, in the order of their names."""
    for found in pkgutil.iter_modules(faces.__path__):
        if found.ispkg:
            module = importlib.import_module(f"{faces.__name__}.{found.name}.face")
            yield module.open_face(world)


def open_site(start: Start, path: Path) -> Site:
    return Site(start, StateFile(path))
