"""MACs and addresses on the management networks, dealt out as HPE's installer does by default."""

from __future__ import annotations

import re
from dataclasses import dataclass

from canton.emulator.machine.parts import Nic, Part
from canton.emulator.machine.topology_draft import Draft

_ORDINALS = re.compile(r"([a-z])(\d+)")
FIRST_HOST = 10
WITH_ADDRESS = frozenset({"Node", "NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController"})


def number(address: str) -> int:
    first, second, third, fourth = (int(octet) for octet in address.split("."))
    return first << 24 | second << 16 | third << 8 | fourth


def dotted(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


@dataclass(frozen=True, slots=True)
class CabinetNetwork:
    """A network of which every cabinet has a /22."""

    first: int
    vlan: int


HSN = number("10.253.0.0")
CABINET_NETWORKS = {
    "NMN_MTN": CabinetNetwork(number("10.100.0.0"), 2000),
    "HMN_MTN": CabinetNetwork(number("10.104.0.0"), 3000),
    "NMN_RVR": CabinetNetwork(number("10.106.0.0"), 1770),
    "HMN_RVR": CabinetNetwork(number("10.107.0.0"), 1513),
}
CABINET_SIZE = 1 << 10
SERVICE_NETWORKS = {"NMN": number("10.252.1.0"), "HMN": number("10.254.1.0")}
"""Of management nodes, login nodes and their BMCs."""


class Allotment:
    """Cabinets get their /22 in the order in which they are asked for."""

    def __init__(self) -> None:
        self.subnets: dict[str, dict[str, int]] = {name: {} for name in CABINET_NETWORKS}
        self._next: dict[tuple[str, str], int] = {}

    def add_cabinet(self, cabinet: str, side: str) -> None:
        for network in (f"NMN_{side}", f"HMN_{side}"):
            subnets = self.subnets[network]
            subnets[cabinet] = CABINET_NETWORKS[network].first + len(subnets) * CABINET_SIZE
            self._next[network, cabinet] = subnets[cabinet] + FIRST_HOST

    def take(self, network: str, cabinet: str) -> str:
        address = self._next[network, cabinet]
        self._next[network, cabinet] = address + 1
        return dotted(address)

    def take_service(self, network: str) -> str:
        address = self._next.get((network, ""), SERVICE_NETWORKS[network] + FIRST_HOST)
        self._next[network, ""] = address + 1
        return dotted(address)


def add_addresses(draft: Draft) -> Allotment:
    """Every node gets a NIC on the NMN, every controller one on the HMN."""
    allotment = Allotment()
    nics = []
    for part in draft.parts.values():
        if part.type == "Cabinet":
            allotment.add_cabinet(part.xname, _side(part))
        elif part.type in WITH_ADDRESS:
            nics.append(_nic(part, allotment, service=_serves(draft, part)))
    draft.nics = nics + draft.nics
    return allotment


def _side(part: Part) -> str:
    return "RVR" if part.hardware_class == "River" else "MTN"


def _serves(draft: Draft, part: Part) -> bool:
    """Whether it is a management or login node, or the BMC of one."""
    node = part.xname if part.type == "Node" else f"{part.xname}n0"
    place = draft.places.get(node)
    return place is not None and place.role != "Compute"


def _nic(part: Part, allotment: Allotment, *, service: bool) -> Nic:
    found = _ORDINALS.findall(part.xname)
    is_node = part.type == "Node"
    network, xname = ("NMN", f"{part.xname}i0") if is_node else ("HMN", part.xname)
    side = _side(part)
    if service:
        address = allotment.take_service(network)
    else:
        address = allotment.take(f"{network}_{side}", f"x{found[0][1]}")
    return Nic(xname, part.xname, _mac(found, river=side == "RVR"), network, address)


def _mac(ordinals: list[tuple[str, str]], *, river: bool) -> str:
    """Cray's algorithm for controllers of liquid-cooled hardware: x5000c1r3b0 is 02:13:88:01:63:00.

    On real hardware the MACs of nodes and in racks are the vendors'; here they are made alike, in places that the
    algorithm leaves free.
    """
    places = {letter: int(ordinal) for letter, ordinal in ordinals}
    cabinet, chassis = places["x"], places.get("c", 0)
    kind = next((letter for letter in "srm" if letter in places), "")
    unit = places.get(kind, 0) + {"s": 0x30, "r": 0x60}.get(kind, 0)
    if river:
        chassis, unit = {"s": 0x80, "r": 0x90, "m": 0xA0}[kind], places[kind]
    last = places.get("b", 0) << 4 | (places["n"] + 1 if "n" in places else 0)
    return f"02:{cabinet >> 8:02x}:{cabinet & 255:02x}:{chassis:02x}:{unit & 255:02x}:{last & 255:02x}"
