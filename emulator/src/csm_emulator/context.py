"""What a service is constructed with: the machine, storage, the scheduler, and access to other services."""

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
"""Sends JSON to the URL of a subscriber: once, in the background; the response is not looked at."""


@dataclass(slots=True)
class PublicAddresses:
    """Addresses and certificates for clients outside of the cluster; empty when no listener runs, as in tests."""

    addresses: dict[str, str] = field(default_factory=dict)
    """``gateway``, and the services that have a listener of their own, by name."""
    kubernetes_ca: str = ""
    kubernetes_certificate: str = ""
    kubernetes_key: str = ""
    """Private key of the cluster's administrator, PEM, as are the two certificates above."""


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
    external_servers: ExternalServers
    cluster: Cluster
    consoles: Consoles
    terminals: Terminals
    blobs: Blobs
    change_signal: ChangeSignal
    public_addresses: PublicAddresses
    before_save: list[Callable[[], None]] = field(default_factory=list)
    """Called before the state is written, by services that work on files and have to copy them into the state."""
    on_close: list[Callable[[], None]] = field(default_factory=list)
    """Called when another state is loaded and when the emulator stops."""
