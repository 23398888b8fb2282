"""The real state of the high-speed network: the effective state of each switch port, and the way of a frame.

The Fabric Manager's documents are the intended state, which it sends to the switches; this is the effective one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from csm_emulator.machine.context import Event, MachineContext
from csm_emulator.machine.fabric.links import Links
from csm_emulator.machine.fabric.packets import Packet, Packets
from csm_emulator.machine.fabric.plan import Plan, PortPlace
from csm_emulator.machine.fabric.port_drift import read_drift
from csm_emulator.machine.fabric.ports import DOWN, EDGE, FABRIC, FrameDropped, PortState, read_state
from csm_emulator.machine.faults.faults import Fault

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class FrameTrace:
    """The way of a frame, and whether it arrived."""

    reached: bool
    why: str
    """The reason why it did not arrive; empty if it did."""
    at: str
    """The port, switch or NIC where it ended."""
    path: Sequence[str]
    """The switch ports that it passed, in order."""
    leaves: str = ""
    """How it leaves the last port: tagged or untagged; empty for RDMA."""
    vlan: int | None = None


class Fabric:
    """Frames are traced whether or not the nodes have power: isolation depends on what could be sent."""

    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._machine = machine
        self._context = context
        self.plan = Plan(machine.topology)
        edge, fabric = EDGE.data(), FABRIC.data()
        seed = {port.xname: edge if port.edge else fabric for port in self.plan.ports.values()}
        self._table = context.tables.open("machine.fabric.ports", seed)
        self._links: tuple[tuple[tuple[str, str], ...], Links] | None = None
        self._packets = Packets(machine, self)
        self.intention: Callable[[str], dict[str, Any] | None] = lambda _: None
        """Returns the intended state of a port; the Fabric Manager service sets this function."""
        context.watchers.append(self._on_event)
        context.faults.register("port-drift", self._drift)

    def state(self, port: str) -> PortState:
        data = self._table.get(port)
        return DOWN if data is None else read_state(data)

    def configure(self, port: str, cause: str, **changes: Any) -> None:
        """Changes the effective state of a port; the caller has checked that the port exists."""
        previous = self.state(port)
        state = replace(previous, **changes)
        if state == previous:
            return
        self._table[port] = state.data()
        place = self.plan.ports.get(port)
        if place is None or not place.edge:
            self._links = None
        data = state.data()
        self._context.log.add("port-changed", port, cause, **{name: data[name] for name in changes})

    def powered(self, switch: str) -> bool:
        return self._machine.power.state(switch) == "on"

    def links(self) -> Links:
        """The working links between switches, cached until a cable, port or switch changes."""
        swaps = tuple(
            (fault.targets, str(fault.facts.get("with")))
            for fault in self._context.faults
            if fault.kind == "wrong-cabling"
        )
        if self._links is None or self._links[0] != swaps:
            moved = {name for swap in swaps for name in swap}
            powered = frozenset(switch for switch in self.plan.switches if self.powered(switch))
            self._links = (swaps, Links(self.plan, lambda port: self._end(port, moved), self.state, powered))
        return self._links[1]

    def _end(self, port: str, moved: set[str]) -> str | None:
        place = self.plan.ports.get(port)
        planned = place.end if place else None
        return self._machine.cable_end(port) if port in moved or planned in moved else planned

    def plug(self, nic: str) -> PortPlace:
        """The switch port that a NIC is really at; raises ``FrameDropped`` when nothing can pass between them."""
        port = self._machine.cable_end(nic)
        place = self.plan.find(port) if port else None
        if port is None or place is None:
            raise FrameDropped(nic, "has no cable to a switch")
        if not place.edge and place.end:
            raise FrameDropped(port, "speaks to switches only, and a NIC is plugged in")
        if not self.powered(place.switch.xname):
            raise FrameDropped(place.switch.xname, "has no power")
        return place

    def frame(self, source: str, target: str, vlan: int | None) -> FrameTrace:
        """Traces an Ethernet frame from NIC to NIC; ``vlan`` is its tag, None is untagged."""
        path: list[str] = []
        inside: int | None = None
        try:
            entry = self._enter(source, path)
            inside = self.state(entry.xname).admit(entry.xname, vlan)
            leave = self._cross(entry, self.plug(target), inside, path)
            how = self.state(leave.xname).release(leave.xname, inside)
        except FrameDropped as end:
            return FrameTrace(False, str(end), end.at, path, vlan=inside)
        path.append(leave.xname)
        return FrameTrace(True, "", target, path, how, inside)

    def rdma(self, source: str, target: str, vni: int) -> FrameTrace:
        """Traces RDMA with a VNI. Only what both edge ports enforce counts, since tenants are root on their nodes.

        VLANs apply to Ethernet; whether a real switch applies them to RDMA is not published.
        """
        path: list[str] = []
        try:
            entry = self._enter(source, path)
            self.state(entry.xname).check_vni(entry.xname, vni)
            leave = self._cross(entry, self.plug(target), None, path)
            self.state(leave.xname).check_vni(leave.xname, vni)
        except FrameDropped as end:
            return FrameTrace(False, str(end), end.at, path)
        path.append(leave.xname)
        return FrameTrace(True, "", target, path)

    def _enter(self, source: str, path: list[str]) -> PortPlace:
        entry = self.plug(source)
        path.append(entry.xname)
        return entry

    def _cross(self, entry: PortPlace, leave: PortPlace, vlan: int | None, path: list[str]) -> PortPlace:
        if leave == entry:
            raise FrameDropped(entry.xname, "gives nothing back to where it came from")
        way = self.links().path(entry.switch.xname, leave.switch.xname, vlan)
        if way is None:
            raise FrameDropped(entry.switch.xname, f"has no way to {leave.switch.xname}")
        path += way
        return leave

    def broadcast(self, source: str, vlan: int | None) -> dict[str, str]:
        """The NICs that receive a broadcast frame, and how: tagged or untagged."""
        receivers: dict[str, str] = {}
        try:
            entry = self.plug(source)
            inside = self.state(entry.xname).admit(entry.xname, vlan)
        except FrameDropped:
            return receivers
        links = self.links()
        zone = links.zone(entry.switch.xname, inside)
        for nic in self.plan.nics:
            try:
                leave = self.plug(nic)
                if nic != source and links.zone(leave.switch.xname, inside) == zone:
                    receivers[nic] = self.state(leave.xname).release(leave.xname, inside)
            except FrameDropped:
                continue
        return receivers

    def packet(
        self, source: str, address: str, vlan: int | None = None, number: int = 0, via: str | None = None
    ) -> Packet:
        """An ICMP echo request from a node to an address, with its reply; ``number`` is its sequence number.

        ``via`` is the high-speed NIC to send from; None uses the kernel's route.
        """
        return self._packets.send(source, address, vlan or None, number, via)

    def is_linked(self, nic: str) -> bool:
        """Whether the link of a NIC of the high-speed network is up."""
        return self._packets.is_linked(nic)

    def linked_nic(self, node: str) -> str | None:
        """The high-speed NIC that the node sends from; None if no link is up."""
        return self._packets.linked_nic(node)

    def describe(self, port: str) -> dict[str, Any] | None:
        """The effective and the intended state of a port; None if no switch has it."""
        place = self.plan.find(port)
        if place is None:
            return None
        return {
            "port": port,
            "switch": place.switch.xname,
            "number": place.number,
            "dfa": place.dfa,
            "planned": place.end or None,
            "cable": self._machine.cable_end(port),
            "power": self._machine.power.state(place.switch.xname),
            "effective": self.state(port).data(),
            "intended": self.intention(port),
        }

    def _on_event(self, event: Event) -> None:
        if event.kind == "power" and event.xname in self.plan.switches:
            self._links = None

    def _drift(self, fault: Fault) -> None:
        ports, changes = read_drift(fault, self.plan)
        for port in ports:
            self.configure(port, "fault port-drift", **changes)
