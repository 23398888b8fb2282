"""MACs and addresses of the management networks, and those of the high-speed network."""

from __future__ import annotations

import re

from canton.emulator.machine.parts import Nic, Part
from canton.emulator.machine.topology_draft import Draft

_ORDINALS = re.compile(r"([a-z])(\d+)")
_FIRST_HOST = 10
NETWORKS = {
    "NMN_MTN": 10 << 24 | 100 << 16,
    "HMN_MTN": 10 << 24 | 104 << 16,
    "NMN_RVR": 10 << 24 | 106 << 16,
    "HMN_RVR": 10 << 24 | 107 << 16,
    "HSN": 10 << 24 | 253 << 16,
}
CABINET_SIZE = 1 << 10
"""Each cabinet has a /22 of each of its networks, as HPE's installer deals them out."""
WITH_ADDRESS = frozenset({"NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController"})


def dotted(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


class Allotment:
    """Cabinets get their /22 in the order in which they are asked for."""

    def __init__(self) -> None:
        self.subnets: dict[tuple[str, str], int] = {}
        self._counts: dict[str, int] = {}
        self._next: dict[tuple[str, str], int] = {}

    def subnet(self, network: str, cabinet: str) -> int:
        key = (network, cabinet)
        if key not in self.subnets:
            number = self._counts.get(network, 0)
            self._counts[network] = number + 1
            self.subnets[key] = NETWORKS[network] + number * CABINET_SIZE
            self._next[key] = self.subnets[key] + _FIRST_HOST
        return self.subnets[key]

    def take(self, network: str, cabinet: str) -> str:
        self.subnet(network, cabinet)
        key = (network, cabinet)
        self._next[key] += 1
        return dotted(self._next[key] - 1)


def add_addresses(draft: Draft) -> Allotment:
    """Every node gets a NIC on the NMN, every controller one on the HMN, and the HSN's NICs their addresses."""
    allotment = Allotment()
    hsn = [
        Nic(nic.xname, nic.owner, nic.mac, nic.network, dotted(NETWORKS["HSN"] + _FIRST_HOST + number))
        for number, nic in enumerate(draft.nics)
    ]
    draft.nics = [_nic(part, allotment) for part in draft.parts.values() if part.type == "Node" or part.type in WITH_ADDRESS]
    draft.nics += hsn
    return allotment


def _nic(part: Part, allotment: Allotment) -> Nic:
    found = _ORDINALS.findall(part.xname)
    side = "RVR" if part.hardware_class == "River" else "MTN"
    network = "NMN" if part.type == "Node" else "HMN"
    address = allotment.take(f"{network}_{side}", f"x{found[0][1]}")
    xname = f"{part.xname}i0" if part.type == "Node" else part.xname
    return Nic(xname, part.xname, _mac(found, river=side == "RVR"), network, address)


def _mac(ordinals: list[tuple[str, str]], *, river: bool) -> str:
    """Cray's algorithm for controllers of liquid-cooled hardware: x5000c1r3b0 is 02:13:88:01:63:00.

    Node and rack MACs come from the vendor on real hardware; here they are made in the same way, in places that the algorithm
    leaves free.
    """
    places = {letter: int(number) for letter, number in ordinals}
    cabinet, chassis = places["x"], places.get("c", 0)
    kind, unit = next(((letter, places[letter]) for letter in "srm" if letter in places), ("", 0))
    start = {"s": 0x30, "r": 0x60}.get(kind, 0)
    if river:
        chassis, start = {"s": 0x80, "r": 0x90, "m": 0xA0}[kind], 0
    last = places.get("b", 0) << 4 | (places["n"] + 1 if "n" in places else 0)
    return f"02:{cabinet >> 8:02x}:{cabinet & 255:02x}:{chassis:02x}:{start + unit & 255:02x}:{last & 255:02x}"
