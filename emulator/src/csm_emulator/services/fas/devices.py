"""What controllers have that firmware can be put on, as Redfish's UpdateService lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Part

CRAY, GIGABYTE, HPE = "cray", "gigabyte", "hpe"
_MAKERS = {"hewlett": HPE, "hpe": HPE, "gigabyte": GIGABYTE, "giga-byte": GIGABYTE, "intel": "intel"}
TYPES = ("ChassisBMC", "RouterBMC", "NodeBMC")
FIRMWARE: Mapping[str, Mapping[str, str]] = {
    "ChassisBMC": {"BMC": "cc.1.9.12-3", "FPGA0": "cc.1.9.12-3", "Recovery": "cc.1.9.12-3"},
    "RouterBMC": {"BMC": "sc.1.9.12-3", "FPGA0": "sc.1.9.12-3", "Recovery": "sc.1.9.12-3"},
}
"""Of controllers without nodes; those with nodes have what the nodes' model says."""
OF_NODE = ("BIOS", "System ROM")
OF_CONTROLLER = ("BMC", "iLO 5", "iLO 6")
ENCLOSURES = ("NodeEnclosure", "Chassis", "RouterModule")


@dataclass(frozen=True, slots=True)
class Spot:
    """One thing on a device that has a firmware of its own."""

    bmc: str
    target: str
    name: str
    version: str
    """As delivered."""
    manufacturer: str
    model: str
    device_type: str
    node: str = ""
    """Whose start makes new firmware take effect, when it is a node's."""
    restarts: bool = False
    """Whether the controller itself has to start again for it."""

    @property
    def key(self) -> str:
        return f"{self.bmc}/{self.target}"


class Devices:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @cached_property
    def _by_controller(self) -> dict[str, list[Part]]:
        found: dict[str, list[Part]] = {}
        for part in self._machine.parts("Node", *ENCLOSURES):
            found.setdefault(part.controller, []).append(part)
        return found

    def one_of_each_kind(self) -> Iterator[str]:
        """Controllers, one for all that have the same below them."""
        seen: set[tuple[object, ...]] = set()
        for part in self._machine.parts(*TYPES):
            below = self._by_controller.get(part.xname, [])
            names = (each.xname.removeprefix(part.xname) if each.type == "Node" else "" for each in below)
            kind = (
                part.type,
                part.hardware_class,
                id(part.fru),
                *(id(each.model or each.fru) for each in below),
                *names,
            )
            if kind not in seen:
                seen.add(kind)
                yield part.xname

    def spots(self, bmc: str) -> Iterator[Spot]:
        """Nothing for what is no controller."""
        part = self._machine.part(bmc)
        if part is None or part.type not in TYPES:
            return
        below = self._by_controller.get(bmc, [])
        nodes = [each for each in below if each.type == "Node" and each.model]
        maker, model = _maker(part, nodes), _model(part, below)
        firmware = nodes[0].model.firmware if nodes and nodes[0].model else FIRMWARE.get(part.type, {})
        for number, (name, version) in enumerate(firmware.items(), 1):
            for target, shown, node in _targets(maker, number, name, nodes):
                its_model = node.model.board.model if node and node.model and maker == CRAY else model
                owner = node.xname if node else ""
                restarts = name in OF_CONTROLLER
                yield Spot(bmc, target, shown, version, maker, its_model, part.type, owner, restarts)


def _targets(maker: str, number: int, name: str, nodes: list[Part]) -> Iterator[tuple[str, str, Part | None]]:
    """Cray's controllers have one BIOS for each node; HPE numbers what it has."""
    if maker == CRAY and name in OF_NODE:
        for node in nodes:
            target = f"Node{node.xname.rpartition('n')[2]}.{name}"
            yield target, target, node
    elif maker == HPE:
        yield str(number), name, nodes[0] if name in OF_NODE and nodes else None
    else:
        yield name, name, nodes[0] if name in OF_NODE and nodes else None


def _maker(part: Part, nodes: list[Part]) -> str:
    if part.hardware_class != "River" or part.type == "RouterBMC":
        return CRAY
    frus = [node.model.board for node in nodes if node.model] + ([part.fru] if part.fru else [])
    names = [fru.manufacturer.lower() for fru in frus]
    return next((maker for name in names for word, maker in _MAKERS.items() if word in name), "")


def _model(part: Part, below: list[Part]) -> str:
    """Of the enclosure, which is what FAS asks for."""
    frus = [each.fru for each in below if each.type in ENCLOSURES] + [part.fru]
    return next((fru.model for fru in frus if fru), "")
