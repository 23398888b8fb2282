"""What a machine is made of. Frozen: hardware changes by faults and by nothing else, and those are state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fru:
    """A model of a thing that is screwed in: a processor, a DIMM, a NIC, a drive. One object for all of its kind."""

    kind: str
    """As HSM's hardware inventory says: Processor, Memory, NodeAccel, NodeHsnNic, Drive, Node, NodeEnclosure, …"""
    manufacturer: str
    model: str
    part_number: str
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the model says of itself, in the words of Redfish: TotalCores, CapacityMiB, MaxSpeedMHz, …"""


@dataclass(frozen=True, slots=True)
class Fitting:
    """Some of one FRU in each node: ``Fitting(epyc, "p{}", 2)`` gives p0 and p1."""

    fru: Fru
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class NodeModel:
    """What every node of a blade type is."""

    name: str
    """EX425, EX254n, DL325, …"""
    arch: str
    """X86 or ARM, as HSM says."""
    board: Fru
    fittings: Sequence[Fitting]
    hsn_nics: int
    firmware: Mapping[str, str]
    """BIOS, BMC, FPGA, … and their versions."""
    watts_idle: int
    power_limits: tuple[int, int]
    """The least and the most that a power cap may be, in watts."""
    accelerator_limits: tuple[int, int] | None = None
    """The same of each of its accelerators; None where they cannot be capped by themselves."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that has an xname of its own and that somebody may ask about."""

    xname: str
    type: str
    """As HSM's components: Node, NodeBMC, ComputeModule, Chassis, ChassisBMC, RouterModule, RouterBMC, Cabinet, …"""
    parent: str
    hardware_class: str
    """Mountain, Hill or River."""
    controller: str = ""
    """The BMC that Redfish is spoken to for this part; a BMC is its own."""
    feeds: tuple[str, ...] = ()
    """What loses its power when this part does."""
    model: NodeModel | None = None
    """Of nodes."""
    fru: Fru | None = None
    """Of everything else that has one."""


@dataclass(frozen=True, slots=True)
class Nic:
    """A network port of a node or of a controller."""

    xname: str
    """``…n0h0`` for the high-speed network, ``…n0i0`` for management, the BMC's own name for a BMC."""
    owner: str
    mac: str
    network: str
    """HSN, NMN or HMN."""
    address: str
    """IPv4; empty when the site gave none."""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """What the site decided about a node: SLS has it, and discovery takes it from there."""

    xname: str
    nid: int
    role: str
    sub_role: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cable:
    """From a jack's port on a switch to a NIC of a node, or to another switch's."""

    port: str
    """``x1000c0r3j4p0``: JackPort."""
    end: str
    """A NIC's xname, or another port."""


@dataclass(frozen=True, slots=True)
class Network:
    """As SLS has it."""

    name: str
    full_name: str
    kind: str
    """ethernet or slingshot10/slingshot11, the ``Type`` of SLS."""
    cidrs: tuple[str, ...]
    extra: Mapping[str, object] = field(default_factory=dict)
    """ExtraProperties, as they stand in SLS."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody who has nodes: an HSM group, its users, and whether their nodes are up at the start."""

    label: str
    description: str
    nodes: tuple[str, ...]
    users: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclusive: str = ""
    """HSM's exclusiveGroup."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A whole machine at rest. ``parts`` is in the order of xnames, parents before what they hold."""

    name: str
    about: str
    parts: Mapping[str, Part]
    nics: Sequence[Nic]
    places: Mapping[str, NodePlace]
    cables: Sequence[Cable]
    networks: Sequence[Network]
    owners: Sequence[Owner]
    running: frozenset[str]
    """Nodes that are up when the machine starts."""
    sls: Mapping[str, object]
    """``{"Hardware": {…}, "Networks": {…}}``: the dump that SLS starts with, made from the parts or imported."""
    switches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of each switch the dragonfly group and its number in it: what its ports' addresses on the fabric are made of."""
