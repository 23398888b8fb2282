"""What a face is given: the machine, and the means to keep, to wait and to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from csm_emulator.cluster.cluster import Cluster
from csm_emulator.machine.faults.faults import Faults
from csm_emulator.machine.machine import Machine
from csm_emulator.nodes.consoles import Consoles
from csm_emulator.nodes.terminals import Terminals
from csm_emulator.records import Json
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.change_signal import ChangeSignal
from csm_emulator.transport.external_servers import ExternalServers
from csm_emulator.transport.mesh import Mesh

Post = Callable[[str, Json], None]
"""Send JSON to a URL that somebody subscribed, soon, once, without an answer."""


@dataclass(slots=True)
class PublicAddresses:
    """Where the machine is reached from outside, and with what; nothing of it is known without a network."""

    addresses: dict[str, str] = field(default_factory=dict)
    """``gateway``, and the services that have a listener of their own, by name."""
    kubernetes_ca: str = ""
    kubernetes_certificate: str = ""
    kubernetes_key: str = ""
    """Of the cluster's administrator, PEM."""


@dataclass(frozen=True, slots=True)
class Context:
    machine: Machine
    clock: Clock
    scheduler: Scheduler
    tables: RecordTables
    random: SeededRandom
    faults: Faults
    log: EventLog
    mesh: Mesh
    post: Post
    outside: ExternalServers
    cluster: Cluster
    consoles: Consoles
    terminals: Terminals
    blobs: Blobs
    change_signal: ChangeSignal
    public_addresses: PublicAddresses
    before_keep: list[Callable[[], None]] = field(default_factory=list)
    """Called before the state is written: for what is worked on elsewhere and kept there."""
    at_end: list[Callable[[], None]] = field(default_factory=list)
    """Called when this machine is left for another, or for good."""
