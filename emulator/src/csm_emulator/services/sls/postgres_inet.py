"""Addresses as PostgreSQL's ``inet`` reads and formats them, after the check by Go's ``net.ParseCIDR``."""

from __future__ import annotations

import ipaddress
import re

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_BITS = re.compile("[0-9]{1,9}")
_SHORT_V4 = re.compile("[0-9]{1,9}(?:[.][0-9]{1,9}){0,3}")


def is_cidr(text: str) -> bool:
    address, _, bits = text.partition("/")
    return "%" not in address and bool(_BITS.fullmatch(bits)) and _interface(address, int(bits)) is not None


def normalized(cidr: str) -> str:
    """The address as the database returns it: in lower case, a single host without its mask."""
    address, _, bits = cidr.partition("/")
    return _formatted(_interface(address, int(bits)))


def parse_search(text: str) -> Interface | None:
    """The searched address or network, whose last octets may be omitted; None when PostgreSQL refuses it."""
    address, slash, bits = text.partition("/")
    if "%" in address or (slash and not _BITS.fullmatch(bits)):
        return None
    if _SHORT_V4.fullmatch(address):
        octets = [str(int(octet)) for octet in address.split(".")]
        if len(octets) < 4 and not slash:
            return None
        address = ".".join([*octets, "0", "0", "0"][:4])
    return _interface(address, int(bits) if slash else (128 if ":" in address else 32))


def contains(cidr: str, searched: Interface) -> bool:
    net = ipaddress.ip_interface(cidr).network
    return net.version == searched.version and searched.network.subnet_of(net)  # type: ignore[arg-type]


def _interface(address: str, bits: int) -> Interface | None:
    try:
        return ipaddress.ip_interface(f"{ipaddress.ip_address(address)}/{bits}")
    except ValueError:
        return None


def _formatted(interface: Interface | None) -> str:
    if interface is None:
        raise ValueError("was checked before")
    bits, full_length = interface.network.prefixlen, interface.max_prefixlen
    mask = "" if bits == full_length else f"/{bits}"
    return f"{_address(interface)}{mask}"


def _address(interface: Interface) -> str:
    number = int(interface.ip)
    if interface.version == 6 and (number >> 32 == 0xFFFF or (number >> 32 == 0 and number >> 16)):
        prefix = "::ffff:" if number >> 32 else "::"
        return f"{prefix}{ipaddress.IPv4Address(number & 0xFFFF_FFFF)}"
    return str(interface.ip)
