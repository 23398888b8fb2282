"""The effective state of the high-speed network: of each switch port, and the path of a frame.

The Fabric Manager's documents are the intended state, which it sends to the switches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from csm_emulator.machine.context import Event, MachineContext
from csm_emulator.machine.fabric.links import Links
from csm_emulator.machine.fabric.packets import Packet, Packets
from csm_emulator.machine.fabric.plan import FabricPlan, PlannedPort
from csm_emulator.machine.fabric.port_drift import read_drift
from csm_emulator.machine.fabric.ports import DOWN, EDGE, FABRIC, FrameDropped, PortChanges, PortData, PortState, read_state
from csm_emulator.machine.faults.faults import Fault

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class FrameTrace:
    """The path of a frame through the switches, and whether it arrived."""

    reached: bool
    drop_reason: str
    """Why it did not arrive; empty if it did."""
    last_hop: str
    """The port, switch or NIC where its path ended."""
    path: Sequence[str]
    """The switch ports that it passed, in order."""
    egress_tagging: str = ""
    """Whether it left the last switch port tagged or untagged; empty for RDMA or if it did not arrive."""
    vlan: int | None = None
    """The VLAN of the frame between the switches; None for RDMA or if no port accepted it."""


class Fabric:
    """Frames are traced whether or not the nodes have power: isolation depends on what could be sent."""

    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._machine = machine
        self._context = context
        self.plan = FabricPlan(machine.topology)
        edge, fabric = EDGE.data(), FABRIC.data()
        seed = {port.xname: edge if port.edge else fabric for port in self.plan.ports.values()}
        self._table = context.tables.open("machine.fabric.ports", seed)
        self._links: tuple[tuple[tuple[str, str], ...], Links] | None = None
        self._packets = Packets(machine, self)
        self.intended_state: Callable[[str], PortData | None] = lambda _: None
        """Returns the intended state of a port; the Fabric Manager service sets this function."""
        context.watchers.append(self._on_event)
        context.faults.register("port-drift", self._drift)

    def state(self, port: str) -> PortState:
        data = self._table.get(port)
        return DOWN if data is None else read_state(data)

    def configure(self, port: str, cause: str, **changes: Unpack[PortChanges]) -> None:
        """Changes the effective state of a port; the caller has checked that the port exists."""
        previous = self.state(port)
        state = replace(previous, **changes)
        if state == previous:
            return
        self._table[port] = state.data()
        planned_port = self.plan.ports.get(port)
        if planned_port is None or not planned_port.edge:
            self._links = None
        data: Mapping[str, object] = state.data()
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
            swapped_ports = {name for swap in swaps for name in swap}
            powered = frozenset(switch for switch in self.plan.switches if self.powered(switch))
            self._links = (swaps, Links(self.plan, lambda port: self._end(port, swapped_ports), self.state, powered))
        return self._links[1]

    def _end(self, port: str, swapped_ports: set[str]) -> str | None:
        planned_port = self.plan.ports.get(port)
        planned_end = planned_port.end if planned_port else None
        return self._machine.cable_end(port) if port in swapped_ports or planned_end in swapped_ports else planned_end

    def connected_port(self, nic: str) -> PlannedPort:
        """The switch port to which a NIC is connected; raises ``FrameDropped`` if no frame can pass between them."""
        port = self._machine.cable_end(nic)
        planned_port = self.plan.find(port) if port else None
        if port is None or planned_port is None:
            raise FrameDropped(nic, "has no cable to a switch")
        if not planned_port.edge and planned_port.end:
            raise FrameDropped(port, "is a fabric port, but a NIC is connected to it")
        if not self.powered(planned_port.switch.xname):
            raise FrameDropped(planned_port.switch.xname, "has no power")
        return planned_port

    def trace_frame(self, source: str, target: str, vlan: int | None) -> FrameTrace:
        """Traces an Ethernet frame from NIC to NIC; ``vlan`` is its tag, None is untagged."""
        path: list[str] = []
        fabric_vlan: int | None = None
        try:
            ingress = self._ingress(source, path)
            fabric_vlan = self.state(ingress.xname).ingress_vlan(ingress.xname, vlan)
            egress = self._forward(ingress, self.connected_port(target), fabric_vlan, path)
            tagging = self.state(egress.xname).egress_tagging(egress.xname, fabric_vlan)
        except FrameDropped as drop:
            return FrameTrace(False, str(drop), drop.last_hop, path, vlan=fabric_vlan)
        path.append(egress.xname)
        return FrameTrace(True, "", target, path, tagging, fabric_vlan)

    def trace_rdma(self, source: str, target: str, vni: int) -> FrameTrace:
        """Traces RDMA with a VNI. Only what both edge ports enforce counts, since tenants are root on their nodes.

        VLANs apply to Ethernet; whether a real switch applies them to RDMA is not published.
        """
        path: list[str] = []
        try:
            ingress = self._ingress(source, path)
            self.state(ingress.xname).check_vni(ingress.xname, vni)
            egress = self._forward(ingress, self.connected_port(target), None, path)
            self.state(egress.xname).check_vni(egress.xname, vni)
        except FrameDropped as drop:
            return FrameTrace(False, str(drop), drop.last_hop, path)
        path.append(egress.xname)
        return FrameTrace(True, "", target, path)

    def _ingress(self, source: str, path: list[str]) -> PlannedPort:
        ingress = self.connected_port(source)
        path.append(ingress.xname)
        return ingress

    def _forward(self, ingress: PlannedPort, egress: PlannedPort, vlan: int | None, path: list[str]) -> PlannedPort:
        if egress == ingress:
            raise FrameDropped(ingress.xname, "does not forward a frame back to its ingress port")
        switch_ports = self.links().path(ingress.switch.xname, egress.switch.xname, vlan)
        if switch_ports is None:
            raise FrameDropped(ingress.switch.xname, f"has no path to {egress.switch.xname}")
        path += switch_ports
        return egress

    def broadcast(self, source: str, vlan: int | None) -> dict[str, str]:
        """By NIC that receives a broadcast frame: whether it receives it tagged or untagged."""
        receivers: dict[str, str] = {}
        try:
            ingress = self.connected_port(source)
            fabric_vlan = self.state(ingress.xname).ingress_vlan(ingress.xname, vlan)
        except FrameDropped:
            return receivers
        links = self.links()
        zone = links.zone(ingress.switch.xname, fabric_vlan)
        for nic in self.plan.nics:
            try:
                egress = self.connected_port(nic)
                if nic != source and links.zone(egress.switch.xname, fabric_vlan) == zone:
                    receivers[nic] = self.state(egress.xname).egress_tagging(egress.xname, fabric_vlan)
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
        planned_port = self.plan.find(port)
        if planned_port is None:
            return None
        return {
            "port": port,
            "switch": planned_port.switch.xname,
            "number": planned_port.number,
            "dfa": planned_port.dfa,
            "planned": planned_port.end or None,
            "cable": self._machine.cable_end(port),
            "power": self._machine.power.state(planned_port.switch.xname),
            "effective": self.state(port).data(),
            "intended": self.intended_state(port),
        }

    def _on_event(self, event: Event) -> None:
        if event.kind == "power" and event.xname in self.plan.switches:
            self._links = None

    def _drift(self, fault: Fault) -> None:
        ports, changes = read_drift(fault, self.plan)
        for port in ports:
            self.configure(port, "fault port-drift", **changes)
