"""IP between nodes: whether a ping is answered, and its round-trip time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from csm_emulator.machine.boot import UP
from csm_emulator.machine.fabric.ports import TAGGED, FrameDropped
from csm_emulator.machine.parts import Nic

if TYPE_CHECKING:
    from csm_emulator.machine.fabric.fabric import Fabric
    from csm_emulator.machine.machine import Machine

LOCAL = (0.00002, 0.00005)
STACKS = (0.00003, 0.00008)
"""Seconds in NICs and kernels at both ends, both ways, on the high-speed network."""
HOP = 0.000_000_35
"""Seconds through one switch."""
MANAGEMENT = (0.00012, 0.0004)


@dataclass(frozen=True, slots=True)
class Packet:
    """The result of an ICMP echo request."""

    reached: bool
    failure_reason: str = ""
    """Why no reply arrived; empty if one did."""
    seconds: float = 0.0
    """Round-trip time."""
    path: Sequence[str] = ()
    """Switch ports on the way to the target."""


class Packets:
    def __init__(self, machine: Machine, fabric: Fabric) -> None:
        self._machine = machine
        self._fabric = fabric

    @cached_property
    def _by_address(self) -> dict[str, Nic]:
        return {nic.address: nic for nic in self._machine.topology.nics if nic.address}

    def send(self, source: str, address: str, vlan: int | None, number: int, via: str | None = None) -> Packet:
        nic = self._by_address.get(address)
        if not self._up(source):
            return Packet(False, f"{source} is not up")
        if nic is None:
            return Packet(False, f"no node has the address {address}")
        if nic.owner == source:
            return Packet(True, "", self._chance(LOCAL, source, address, number))
        if nic.network == "HMN":
            return Packet(False, f"{address} is on the hardware management network, where no node is")
        return self._to_node(source, nic, vlan, number, via)

    def _to_node(self, source: str, nic: Nic, vlan: int | None, number: int, via: str | None) -> Packet:
        if not self._up(nic.owner):
            return Packet(False, f"{nic.owner} is not up")
        if nic.network == "NMN":
            return Packet(True, "", self._chance(MANAGEMENT, source, nic.address, number))
        return self._over_fabric(source, nic, vlan, number, via)

    def _over_fabric(self, source: str, target: Nic, vlan: int | None, number: int, via: str | None) -> Packet:
        """Sends an ARP request and its reply, and then the packet and its reply, which take the same paths.

        A node replies with the tag that the request had when it arrived, or without one.
        """
        source_nic = via or self.linked_nic(source)
        if source_nic is None or not self.is_linked(source_nic):
            return Packet(False, f"{via or source} has no link on the high-speed network")
        request = self._fabric.trace_frame(source_nic, target.xname, vlan)
        request_tag = request.vlan if request.egress_tagging == TAGGED else None
        if not request.reached or (vlan is None and request_tag is not None):
            return Packet(False, request.drop_reason or _no_interface(target.xname, request_tag))
        response = self._fabric.trace_frame(target.xname, source_nic, request_tag)
        response_tag = response.vlan if response.egress_tagging == TAGGED else None
        if not response.reached or response_tag != vlan:
            return Packet(False, response.drop_reason or _no_interface(source_nic, response_tag))
        hops = len(request.path) // 2
        seconds = self._chance(STACKS, source, target.address, number) + 2 * hops * HOP
        return Packet(True, "", seconds, request.path)

    def linked_nic(self, node: str) -> str | None:
        """The first of hsn0, hsn1, … whose link is up: the kernel's route uses it."""
        for nic in self._machine.nics(node):
            if nic.network == "HSN" and self.is_linked(nic.xname):
                return nic.xname
        return None

    def is_linked(self, nic: str) -> bool:
        try:
            port = self._fabric.connected_port(nic)
        except FrameDropped:
            return False
        return self._fabric.state(port.xname).online

    def _up(self, node: str) -> bool:
        part = self._machine.part(node)
        return part is not None and part.type == "Node" and self._machine.boot.stage(node) == UP

    def _chance(self, span: tuple[float, float], source: str, address: str, number: int) -> float:
        return self._machine.context.chance(span, "ping", source, address, number)


def _no_interface(nic: str, tag: int | None) -> str:
    how = "without a tag" if tag is None else f"with the tag {tag}"
    return f"{nic} receives the frames {how} and has no interface for them"
