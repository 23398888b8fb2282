"""The routes of a node's own packets: interface and source address, and whether a reply arrives."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_interface

from csm_emulator.machine.fabric.packets import LOCAL, Packet
from csm_emulator.machine.machine import Machine
from csm_emulator.nodes.description import Description, Interface

HSN = "hsn"


def route(machine: Machine, node: Description, address: str) -> Interface | None:
    """The interface for an address: one with a link in its network, or the default route over management."""
    if not isinstance(ip_address(address), IPv4Address):
        return None
    own = [link for link in node.interfaces if link.address]
    near = [link for link in own if _reaches(link, address)]
    up = [link for link in near if not link.name.startswith(HSN) or machine.fabric.is_linked(link.nic)]
    out = [link for link in own if link.name == "nmn0"]
    return next(iter(up or near or out), None)


def is_own(node: Description, address: str) -> bool:
    return ip_address(address).is_loopback or any(link.address == address for link in node.interfaces)


def send(machine: Machine, node: str, interfaces: tuple[Interface, ...], address: str, via: str, number: int) -> Packet:
    """One echo request; ``via`` is the interface given by the user, ``number`` the sequence number."""
    if ip_address(address).is_loopback:
        return Packet(True, "", machine.context.chance(LOCAL, "ping", node, address, number))
    link = next((link for link in interfaces if link.name == via), None)
    if link is None or any(one.address == address for one in interfaces):
        return machine.fabric.packet(node, address, number=number)
    if not _reaches(link, address):
        return Packet(False, f"{address} is not on the network of {via}")
    return machine.fabric.packet(node, address, number=number, via=link.nic if link.name.startswith(HSN) else None)


def _reaches(link: Interface, address: str) -> bool:
    return bool(link.address) and ip_address(address) in ip_interface(f"{link.address}/{link.prefix}").network
