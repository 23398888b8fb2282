"""What a face is given: the machine, and the means to keep, to wait and to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from canton.emulator.machine.agenda import Agenda
from canton.emulator.machine.clock import Clock
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.faults import Faults
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.shelves import Shelves
from canton.emulator.machine.truth_log import TruthLog
from canton.emulator.wire.call import Json
from canton.emulator.wire.mesh import Mesh

Post = Callable[[str, Json], None]
"""Send JSON to a URL that somebody subscribed, soon, once, without an answer."""


@dataclass(frozen=True, slots=True)
class World:
    machine: Machine
    clock: Clock
    agenda: Agenda
    shelves: Shelves
    dice: Dice
    faults: Faults
    log: TruthLog
    mesh: Mesh
    post: Post
