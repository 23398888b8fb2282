"""The machine: its parts, power, boot, network and events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from csm_emulator.machine.boot import Boot
from csm_emulator.machine.context import MachineContext, Watcher
from csm_emulator.machine.disks import Remnants, find_remnants
from csm_emulator.machine.fabric.cabling import Cabling
from csm_emulator.machine.fabric.fabric import Fabric
from csm_emulator.machine.faults.targets import register_target_checks
from csm_emulator.machine.parts import Nic, NodePlace, Part, Topology
from csm_emulator.machine.power import Power
from csm_emulator.machine.power_caps import PowerCaps
from csm_emulator.records import Record


class Machine:
    """The index of the hardware, and access to ``power``, ``boot``, ``caps`` and ``fabric``."""

    def __init__(self, topology: Topology, context: MachineContext) -> None:
        self.topology = topology
        self.context = context
        self._by_type: dict[str, list[Part]] = {}
        for part in topology.parts.values():
            self._by_type.setdefault(part.type, []).append(part)
        self._nics: dict[str, list[Nic]] = {}
        for nic in topology.nics:
            self._nics.setdefault(nic.owner, []).append(nic)
        self.power = Power(self, context)
        self.boot = Boot(self, context)
        self.caps = PowerCaps(self, context)
        self._cabling = Cabling(topology.cables, context.faults)
        self.fabric = Fabric(self, context)
        register_target_checks(self, context.faults)

    def part(self, xname: str) -> Part | None:
        return self.topology.parts.get(xname)

    def parts(self, *types: str) -> Iterator[Part]:
        """All parts of these types, in the order of xnames within each; without types, all parts."""
        if not types:
            yield from self.topology.parts.values()
        for kind in types:
            yield from self._by_type.get(kind, ())

    def nics(self, owner: str) -> Sequence[Nic]:
        """The NICs of a node or of a controller."""
        return self._nics.get(owner, ())

    def place(self, node: str) -> NodePlace | None:
        return self.topology.places.get(node)

    def controller(self, xname: str) -> str:
        part = self.part(xname)
        return part.controller if part else ""

    def cable_end(self, port: str) -> str | None:
        """The other end of the cable at a switch port or HSN NIC; None without a cable."""
        return self._cabling.end(port)

    def remnants(self, node: str) -> Remnants | None:
        """Files that the last tenant left on the node's disks; None if there are none."""
        part = self.part(node)
        return find_remnants(part, self.context.faults) if part else None

    def watch(self, watcher: Watcher) -> None:
        """Calls the watcher at each event, in order, when it happens."""
        self.context.watchers.append(watcher)

    def describe(self, xname: str) -> Record | None:
        """The real state of one part or switch port, for the control API; None if it does not exist."""
        part = self.part(xname)
        if part is None:
            return self.fabric.describe(xname)
        description: Record = {
            "xname": xname,
            "type": part.type,
            "class": part.hardware_class,
            "power": self.power.state(xname),
            "since": self.power.since(xname),
        }
        if part.type == "Node":
            remnants = self.remnants(xname)
            description |= {
                "boot": self.boot.record(xname),
                "beating": self.boot.sends_heartbeats(xname),
                "cables": {nic.xname: self.cable_end(nic.xname) for nic in self.nics(xname) if nic.network == "HSN"},
                "remnants": asdict(remnants) if remnants else None,
            }
        return description
