"""What a face is given: the machine, and the means to keep, to wait and to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from canton.emulator.cluster.cluster import Cluster
from canton.emulator.machine.agenda import Agenda
from canton.emulator.machine.blobs import Blobs
from canton.emulator.machine.clock import Clock
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.faults import Faults
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.shelves import Shelves
from canton.emulator.machine.truth_log import TruthLog
from canton.emulator.nodes.consoles import Consoles
from canton.emulator.nodes.terminals import Terminals
from canton.emulator.wire.call import Json
from canton.emulator.wire.mesh import Mesh
from canton.emulator.wire.outside import Outside
from canton.emulator.wire.pulse import Pulse

Post = Callable[[str, Json], None]
"""Send JSON to a URL that somebody subscribed, soon, once, without an answer."""


@dataclass(slots=True)
class Doors:
    """Where the machine is reached from outside, and with what; nothing of it is known without a network."""

    addresses: dict[str, str] = field(default_factory=dict)
    """``gateway``, and the services that have a listener of their own, by name."""
    kubernetes_ca: str = ""
    kubernetes_certificate: str = ""
    kubernetes_key: str = ""
    """Of the cluster's administrator, PEM."""


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
    outside: Outside
    cluster: Cluster
    consoles: Consoles
    terminals: Terminals
    blobs: Blobs
    pulse: Pulse
    doors: Doors
    before_keep: list[Callable[[], None]] = field(default_factory=list)
    """Called before the state is written: for what is worked on elsewhere and kept there."""
    at_end: list[Callable[[], None]] = field(default_factory=list)
    """Called when this machine is left for another, or for good."""
