"""Where a node's own packets go: which interface, from which address, and whether an answer comes back."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_interface

from canton.emulator.machine.fabric_packets import HOP, LOCAL, STACKS, Packet
from canton.emulator.machine.fabric_ports import TAGGED
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.parts import Nic
from canton.emulator.nodes.description import Description, Interface
from canton.emulator.nodes.links import linked

HSN = "hsn"


def route(machine: Machine, node: Description, address: str) -> Interface | None:
    """The interface towards an address: of its network one that has a link, or the way out over management."""
    if not isinstance(ip_address(address), IPv4Address):
        return None
    own = [link for link in node.interfaces if link.address]
    near = [link for link in own if _reaches(link, address)]
    up = [link for link in near if not link.name.startswith(HSN) or linked(machine, link.nic)]
    out = [link for link in own if link.name == "nmn0"]
    return next(iter(up or near or out), None)


def is_own(node: Description, address: str) -> bool:
    return ip_address(address).is_loopback or any(link.address == address for link in node.interfaces)


def send(machine: Machine, node: str, interfaces: tuple[Interface, ...], address: str, via: str, number: int) -> Packet:
    """One echo request; ``via`` is the interface that it was told to use, ``number`` counts them."""
    if ip_address(address).is_loopback:
        return Packet(True, "", machine.means.chance(LOCAL, "ping", node, address, number))
    link = next((link for link in interfaces if link.name == via), None)
    if link is None or any(one.address == address for one in interfaces):
        return machine.fabric.packet(node, address, number=number)
    if not _reaches(link, address):
        return Packet(False, f"{address} is not on the network of {via}")
    if not link.name.startswith(HSN) or link.nic == machine.fabric.linked_nic(node):
        return machine.fabric.packet(node, address, number=number)
    target = next((nic for nic in machine.topology.nics if nic.address == address), None)
    return _over(machine, link, target, number) if target else Packet(False, f"nobody has the address {address}")


def _reaches(link: Interface, address: str) -> bool:
    return bool(link.address) and ip_address(address) in ip_interface(f"{link.address}/{link.prefix}").network


def _over(machine: Machine, link: Interface, target: Nic, number: int) -> Packet:
    """By another NIC than the kernel would take: there and back, without a tag."""
    if not linked(machine, link.nic) or not machine.boot.beating(target.owner):
        return Packet(False, f"nothing answers on {link.name}")
    there = machine.fabric.frame(link.nic, target.xname, None)
    back = machine.fabric.frame(target.xname, link.nic, None)
    for walk in (there, back):
        if not walk.reached or walk.leaves == TAGGED:
            return Packet(False, walk.why or "the frames come with a tag, and there is no interface for it")
    seconds = machine.means.chance(STACKS, "ping", link.nic, target.address, number)
    return Packet(True, "", seconds + len(there.path) // 2 * 2 * HOP, there.path)
