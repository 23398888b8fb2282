"""The parts of a machine. They are frozen: only faults change hardware, and faults are state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from csm_emulator.records import Record


@dataclass(frozen=True, slots=True)
class Fru:
    """A model of a field-replaceable unit: a processor, DIMM, NIC or drive; one object for all units of the model."""

    kind: str
    """As HSM's hardware inventory says: Processor, Memory, NodeAccel, NodeHsnNic, Drive, Node, NodeEnclosure, …"""
    manufacturer: str
    model: str
    part_number: str
    facts: Mapping[str, object] = field(default_factory=dict)
    """Properties of the model, named as in Redfish: TotalCores, CapacityMiB, MaxSpeedMHz, …"""


@dataclass(frozen=True, slots=True)
class Fitting:
    """The number of units of one FRU in each node: ``Fitting(epyc, "p{}", 2)`` gives p0 and p1."""

    fru: Fru
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class NodeModel:
    """The model of the nodes of a blade type."""

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
    """The lowest and highest power cap, in watts."""
    accelerator_limits: tuple[int, int] | None = None
    """The same for each accelerator; None if accelerators have no caps of their own."""


@dataclass(frozen=True, slots=True)
class Part:
    """A component with an xname."""

    xname: str
    type: str
    """As HSM's components: Node, NodeBMC, ComputeModule, Chassis, ChassisBMC, RouterModule, RouterBMC, Cabinet, …"""
    parent: str
    hardware_class: str
    """Mountain, Hill or River."""
    controller: str = ""
    """The BMC whose Redfish controls this part; a BMC is its own controller."""
    feeds: tuple[str, ...] = ()
    """The parts that lose power when this part does."""
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
    """NID, role and aliases of a node, which the site sets in SLS and discovery reads from there."""

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
    """An institution with nodes: its HSM group and its users."""

    label: str
    description: str
    nodes: tuple[str, ...]
    users: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclusive: str = ""
    """HSM's exclusiveGroup."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The description of a whole machine. ``parts`` is ordered by xname, parents before children."""

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
    sls: Mapping[str, Mapping[str, Record]]
    """``{"Hardware": {…}, "Networks": {…}}``: the dump that SLS starts with, made from the parts or imported."""
    switches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Dragonfly group of each switch, and its number in the group; its ports' fabric addresses consist of both."""
