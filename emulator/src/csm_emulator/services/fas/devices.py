"""The firmware items of controllers, as Redfish's UpdateService lists them."""

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
"""Versions by item, for controllers without nodes; others have the versions of their nodes' model."""
NODE_FIRMWARE = ("BIOS", "System ROM")
CONTROLLER_FIRMWARE = ("BMC", "iLO 5", "iLO 6")
ENCLOSURES = ("NodeEnclosure", "Chassis", "RouterModule")


@dataclass(frozen=True, slots=True)
class FirmwareItem:
    """A part of a device that has firmware of its own."""

    bmc: str
    target: str
    name: str
    version: str
    """The version that the device is delivered with."""
    manufacturer: str
    model: str
    device_type: str
    node: str = ""
    """The node whose next boot activates new firmware; empty for firmware of the controller."""
    restarts: bool = False
    """A restart of the controller activates new firmware."""

    @property
    def key(self) -> str:
        return f"{self.bmc}/{self.target}"


class Devices:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @cached_property
    def _by_controller(self) -> dict[str, list[Part]]:
        parts: dict[str, list[Part]] = {}
        for part in self._machine.parts("Node", *ENCLOSURES):
            parts.setdefault(part.controller, []).append(part)
        return parts

    def one_of_each_kind(self) -> Iterator[str]:
        """One controller for each set of controllers with the same hardware."""
        kinds: set[tuple[object, ...]] = set()
        for part in self._machine.parts(*TYPES):
            members = self._by_controller.get(part.xname, [])
            names = (member.xname.removeprefix(part.xname) if member.type == "Node" else "" for member in members)
            kind = (
                part.type,
                part.hardware_class,
                id(part.fru),
                *(id(member.model or member.fru) for member in members),
                *names,
            )
            if kind not in kinds:
                kinds.add(kind)
                yield part.xname

    def firmware_items(self, bmc: str) -> Iterator[FirmwareItem]:
        """No items when ``bmc`` is not a controller."""
        part = self._machine.part(bmc)
        if part is None or part.type not in TYPES:
            return
        members = self._by_controller.get(bmc, [])
        nodes = [member for member in members if member.type == "Node" and member.model]
        maker, model = _maker(part, nodes), _model(part, members)
        firmware = nodes[0].model.firmware if nodes and nodes[0].model else FIRMWARE.get(part.type, {})
        for number, (name, version) in enumerate(firmware.items(), 1):
            for target, display_name, node in _targets(maker, number, name, nodes):
                item_model = node.model.board.model if node and node.model and maker == CRAY else model
                owner = node.xname if node else ""
                restarts = name in CONTROLLER_FIRMWARE
                yield FirmwareItem(bmc, target, display_name, version, maker, item_model, part.type, owner, restarts)


def _targets(maker: str, number: int, name: str, nodes: list[Part]) -> Iterator[tuple[str, str, Part | None]]:
    """Target, name and node of an item: Cray's controllers have a BIOS for each node, HPE numbers its items."""
    if maker == CRAY and name in NODE_FIRMWARE:
        for node in nodes:
            target = f"Node{node.xname.rpartition('n')[2]}.{name}"
            yield target, target, node
    elif maker == HPE:
        yield str(number), name, nodes[0] if name in NODE_FIRMWARE and nodes else None
    else:
        yield name, name, nodes[0] if name in NODE_FIRMWARE and nodes else None


def _maker(part: Part, nodes: list[Part]) -> str:
    if part.hardware_class != "River" or part.type == "RouterBMC":
        return CRAY
    frus = [node.model.board for node in nodes if node.model] + ([part.fru] if part.fru else [])
    names = [fru.manufacturer.lower() for fru in frus]
    return next((maker for name in names for word, maker in _MAKERS.items() if word in name), "")


def _model(part: Part, members: list[Part]) -> str:
    """The model of the enclosure, which FAS reads."""
    frus = [member.fru for member in members if member.type in ENCLOSURES] + [part.fru]
    return next((fru.model for fru in frus if fru), "")
