"""IP between nodes: who answers a ping, and after how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from canton.emulator.machine.boot import UP
from canton.emulator.machine.fabric_ports import UNTAGGED, Dropped
from canton.emulator.machine.parts import Nic

if TYPE_CHECKING:
    from canton.emulator.machine.fabric import Fabric
    from canton.emulator.machine.machine import Machine

LOCAL = (0.00002, 0.00005)
STACKS = (0.00003, 0.00008)
"""Two kernels, on the high-speed network: a NIC and a kernel at each end, there and back."""
HOP = 0.000_000_35
"""Through one switch."""
MANAGEMENT = (0.00012, 0.0004)


@dataclass(frozen=True, slots=True)
class Packet:
    """What became of an echo request."""

    reached: bool
    why: str = ""
    seconds: float = 0.0
    """The whole round trip."""
    path: Sequence[str] = ()
    """Switch ports on the way there."""


class Packets:
    def __init__(self, machine: Machine, fabric: Fabric) -> None:
        self._machine = machine
        self._fabric = fabric

    @cached_property
    def _by_address(self) -> dict[str, Nic]:
        return {nic.address: nic for nic in self._machine.topology.nics if nic.address}

    def send(self, source: str, address: str, vlan: int | None, number: int) -> Packet:
        nic = self._by_address.get(address)
        if not self._up(source):
            return Packet(False, f"{source} is not up")
        if nic is None:
            return Packet(False, f"nobody has the address {address}")
        if nic.owner == source:
            return Packet(True, "", self._chance(LOCAL, source, address, number))
        if nic.network == "HMN":
            return Packet(False, f"{address} is on the hardware management network, where no node is")
        return self._to_node(source, nic, vlan, number)

    def _to_node(self, source: str, nic: Nic, vlan: int | None, number: int) -> Packet:
        if not self._up(nic.owner):
            return Packet(False, f"{nic.owner} is not up")
        if nic.network == "NMN":
            return Packet(True, "", self._chance(MANAGEMENT, source, nic.address, number))
        return self._over_fabric(source, nic, vlan, number)

    def _over_fabric(self, source: str, target: Nic, vlan: int | None, number: int) -> Packet:
        """ARP asks everybody, the answer comes back, and then the packet goes the same two ways."""
        own = self.linked_nic(source)
        if own is None:
            return Packet(False, f"{source} has no link on the high-speed network")
        for there, back in ((own, target.xname), (target.xname, own)):
            walk = self._fabric.frame(there, back, vlan)
            if not walk.reached:
                return Packet(False, walk.why)
            if vlan is None and walk.leaves != UNTAGGED:
                return Packet(False, f"{back} gets the frames with the tag {walk.vlan}, and has no interface for it")
        path = self._fabric.frame(own, target.xname, vlan).path
        hops = len(path) // 2
        seconds = self._chance(STACKS, source, target.address, number) + 2 * hops * HOP
        return Packet(True, "", seconds, path)

    def linked_nic(self, node: str) -> str | None:
        """The first of hsn0, hsn1, … whose link is up: the kernel's route goes over it."""
        for nic in self._machine.nics(node):
            if nic.network == "HSN" and self._linked(nic.xname):
                return nic.xname
        return None

    def _linked(self, nic: str) -> bool:
        try:
            port = self._fabric.plug(nic)
        except Dropped:
            return False
        return self._fabric.state(port.xname).online

    def _up(self, node: str) -> bool:
        part = self._machine.part(node)
        return part is not None and part.type == "Node" and self._machine.boot.stage(node) == UP

    def _chance(self, span: tuple[float, float], source: str, address: str, number: int) -> float:
        return self._machine.means.chance(span, "ping", source, address, number)
