"""What a service is constructed with: the machine, storage, the scheduler, and access to other services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field

from csm_emulator.cluster.cluster import Cluster
from csm_emulator.machine.context import MachineContext
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Topology
from csm_emulator.nodes.consoles import Consoles
from csm_emulator.nodes.terminals import Terminals
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import node_password
from csm_emulator.state.blobs import Blobs
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


@dataclass(slots=True, kw_only=True)
class Context(MachineContext):
    """The machine and its nodes are constructed with this object, so there is one context for them and the services."""

    topology: InitVar[Topology]
    mesh: Mesh
    post: Post
    external_servers: ExternalServers
    cluster: Cluster
    blobs: Blobs
    change_signal: ChangeSignal
    public_addresses: PublicAddresses
    machine: Machine = field(init=False)
    consoles: Consoles = field(init=False)
    terminals: Terminals = field(init=False)
    before_save: list[Callable[[], None]] = field(default_factory=list)
    """Called before the state is written, by services that work on files and have to copy them into the state."""
    on_close: list[Callable[[], None]] = field(default_factory=list)
    """Called when another state is loaded and when the emulator stops."""

    def __post_init__(self, topology: Topology) -> None:
        self.machine = Machine(topology, self)
        self.consoles = Consoles(self.machine, self.clock, self.tables)
        self.terminals = Terminals(self.machine, self, self.consoles, node_password(self.random))
