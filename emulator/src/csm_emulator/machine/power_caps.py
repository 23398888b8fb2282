"""Power caps of nodes, as their controllers store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csm_emulator.machine.context import MachineContext
from csm_emulator.machine.parts import NodeModel, Part
from csm_emulator.machine.power import ControllerUnreachable
from csm_emulator.state.tables import RecordTable

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine

NODE_LIMIT = "Node Power Limit"
_IN_RACKS = {"GIGABYTE": "Chassis Power Control", "Intel Corporation": "Server Power Control"}
"""Names of the power controls of rack servers; HPE's have no name, and HPE's software uses a default (nodecap.go)."""


@dataclass(frozen=True, slots=True)
class PowerControl:
    """A power control: of a whole node, or of one of its accelerators."""

    name: str
    limits: tuple[int, int]
    """The lowest and highest cap, in watts."""
    context: str
    """Redfish's PhysicalContext."""


class PowerCaps:
    """``read`` and ``write`` raise ``ControllerUnreachable`` when the controller does not answer."""

    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._machine = machine
        self._context = context
        self._table: RecordTable[dict[str, int]] = context.tables.open("machine.caps")

    def read(self, node: str, control: str = NODE_LIMIT) -> int:
        """The cap in watts; 0 is no cap."""
        self._check_reachable(node)
        return int(self._table.get(node, {}).get(control, 0))

    def write(self, node: str, watts: Mapping[str, int], cause: str) -> None:
        """Sets caps: watts by name of the control."""
        self._check_reachable(node)
        previous = self._table.get(node, {})
        changes = {name: value for name, value in watts.items() if previous.get(name, 0) != value}
        if changes:
            self._table[node] = {**previous, **changes}
        for name, value in changes.items():
            self._context.log.add("power-cap", node, cause, control=name, watts=value)

    def _check_reachable(self, node: str) -> None:
        controller = self._machine.controller(node)
        if not self._machine.power.controllers.answers(controller, node):
            raise ControllerUnreachable(controller)


def controls_of(part: Part) -> list[PowerControl]:
    """The power controls of a node, the node's own first. Liquid-cooled blades also have one for each accelerator
    (docs-csm, Node Card Power Management); rack servers have one in all.
    """
    model = part.model
    if model is None:
        return []
    if part.hardware_class == "River":
        return [PowerControl(_IN_RACKS.get(model.board.manufacturer, NODE_LIMIT), model.power_limits, "Chassis")]
    controls, limits = [PowerControl(NODE_LIMIT, model.power_limits, "Chassis")], model.accelerator_limits
    if limits:
        names = (f"Accelerator{number} Power Limit" for number in range(_accelerators(model)))
        controls += [PowerControl(name, limits, "Accelerator") for name in names]
    return controls


def _accelerators(model: NodeModel) -> int:
    return sum(fitting.count for fitting in model.fittings if fitting.fru.kind == "NodeAccel")
