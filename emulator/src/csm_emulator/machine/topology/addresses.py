"""MACs, and addresses on the management networks, assigned as HPE's installer does by default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.machine.parts import Nic, Part
from csm_emulator.machine.topology.draft import Draft

_ORDINALS = re.compile(r"([a-z])(\d+)")
FIRST_HOST = 10
WITH_ADDRESS = frozenset({"Node", "NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController"})


def cabinet_of(xname: str) -> str:
    """The cabinet of an xname: x3000 for x3000m0 and for x3000c0s1b0."""
    return "".join(_ORDINALS.findall(xname)[0])


def number(address: str) -> int:
    first, second, third, fourth = (int(octet) for octet in address.split("."))
    return first << 24 | second << 16 | third << 8 | fourth


def dotted(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


@dataclass(frozen=True, slots=True)
class CabinetNetwork:
    """A network in which every cabinet has a /22."""

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
"""First addresses of the networks of management nodes, login nodes and their BMCs."""


class AddressAllocator:
    """Assigns a /22 of each network to each cabinet, and addresses from it.

    ``given_subnets`` are those of an SLS dump; the others are assigned in the order of the cabinets.
    """

    def __init__(self, given_subnets: Mapping[tuple[str, str], int] | None = None) -> None:
        self.subnets: dict[str, dict[str, int]] = {name: {} for name in CABINET_NETWORKS}
        self._given_subnets = given_subnets or {}
        self._sides: dict[str, str] = {}
        self._next: dict[int, int] = {}

    def add_cabinet(self, cabinet: Part) -> None:
        side = side_of(cabinet)
        self._sides[cabinet.xname] = side
        for network in (f"NMN_{side}", f"HMN_{side}"):
            subnets = self.subnets[network]
            dealt = CABINET_NETWORKS[network].first + len(subnets) * CABINET_SIZE
            subnets[cabinet.xname] = self._given_subnets.get((network, cabinet.xname), dealt)

    def take(self, network: str, cabinet: str) -> str:
        """The next free address in the NMN or HMN of a cabinet."""
        return self._take(self.subnets[f"{network}_{self._sides[cabinet]}"][cabinet])

    def take_service(self, network: str) -> str:
        return self._take(SERVICE_NETWORKS[network])

    def _take(self, subnet: int) -> str:
        address = self._next.get(subnet, subnet + FIRST_HOST)
        self._next[subnet] = address + 1
        return dotted(address)


def add_addresses(draft: Draft, allotment: AddressAllocator) -> None:
    """Adds a NIC on the NMN to every node, and one on the HMN to every controller."""
    nics = []
    for part in draft.parts.values():
        if part.type == "Cabinet":
            allotment.add_cabinet(part)
        elif part.type in WITH_ADDRESS:
            nics.append(_nic(part, allotment, service=_serves(draft, part)))
    draft.nics = nics + draft.nics


def side_of(part: Part) -> str:
    """The suffix of the names of a cabinet's networks."""
    return "RVR" if part.hardware_class == "River" else "MTN"


def _serves(draft: Draft, part: Part) -> bool:
    """Whether it is a management or login node, or the BMC of such a node."""
    node = part.xname if part.type == "Node" else f"{part.xname}n0"
    place = draft.places.get(node)
    return place is not None and place.role != "Compute"


def _nic(part: Part, allotment: AddressAllocator, *, service: bool) -> Nic:
    ordinals = _ORDINALS.findall(part.xname)
    is_node = part.type == "Node"
    network, xname = ("NMN", f"{part.xname}i0") if is_node else ("HMN", part.xname)
    address = allotment.take_service(network) if service else allotment.take(network, "".join(ordinals[0]))
    return Nic(xname, part.xname, _mac(ordinals, river=part.hardware_class == "River"), network, address)


def _mac(ordinals: list[tuple[str, str]], *, river: bool) -> str:
    """Cray's algorithm for controllers of liquid-cooled hardware: x5000c1r3b0 is 02:13:88:01:63:00.

    On real hardware, the MACs of nodes and of racks are the vendors'; here they are derived in the same way, with
    values that the algorithm leaves free.
    """
    places = {letter: int(ordinal) for letter, ordinal in ordinals}
    cabinet, chassis = places["x"], places.get("c", 0)
    kind = next((letter for letter in "srm" if letter in places), "")
    unit = places.get(kind, 0) + {"s": 0x30, "r": 0x60}.get(kind, 0)
    if river:
        chassis, unit = {"s": 0x80, "r": 0x90, "m": 0xA0}[kind], places[kind]
    last = places.get("b", 0) << 4 | (places["n"] + 1 if "n" in places else 0)
    return f"02:{cabinet >> 8:02x}:{cabinet & 255:02x}:{chassis:02x}:{unit & 255:02x}:{last & 255:02x}"
