"""Checks that the targets of hardware faults exist and have a type to which the fault applies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.faults.faults import ALL_TARGETS, Fault, Faults, names_in
from csm_emulator.machine.power import RESETS, SWITCHED
from csm_emulator.nodesets import natural_order
from csm_emulator.xnames import is_xname

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine

_NODES = frozenset({"Node"})
_TYPES: dict[str, Collection[str]] = {
    "no-power-on": SWITCHED,
    "boot-hangs": _NODES,
    "bmc-unreachable": CONTROLLERS.union(RESETS),
    "pcs-failure": RESETS,
    "stale-inventory": (),
    "disk-remnants": _NODES,
    "cfs-layer-fails": _NODES,
    "bos-unknown-member": _NODES,
}
"""The types of parts to which each kind applies; empty is all types."""
_PORTS = ("fm-no-effect", "slow-barrier")
_ALSO_FUTURE_NAMES = frozenset({"cfs-layer-fails"})
"""Kinds that also apply to images, by ids of images that may be built later."""


class _Targets:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def check_parts(self, fault: Fault) -> None:
        types = _TYPES[fault.kind]
        for name in _names(fault):
            part = self._machine.part(name)
            if part is None and (fault.kind not in _ALSO_FUTURE_NAMES or is_xname(name)):
                raise InvalidMachine(f"no part {name}; {fault.kind} applies to {self._valid_targets(types)}")
            if part is not None and types and part.type not in types:
                raise InvalidMachine(
                    f"{name} is a {part.type}, but {fault.kind} applies to {self._valid_targets(types)}"
                )

    def check_ports(self, fault: Fault) -> None:
        for name in _names(fault):
            if self._machine.fabric.plan.find(name) is None:
                self._refuse_port(fault, name)

    def check_swapped_ports(self, fault: Fault) -> None:
        plan = self._machine.fabric.plan
        for name in (fault.targets, str(fault.facts["with"])):
            if plan.find(name) is None and name not in plan.nics:
                self._refuse_port(fault, name)

    def _valid_targets(self, types: Collection[str]) -> str:
        type_names = sorted(types)
        xnames = [part.xname for part in self._machine.parts(*type_names)]
        return f"{' or '.join(type_names) or 'any part'}, {_span(xnames)}"

    def _refuse_port(self, fault: Fault, name: str) -> None:
        ports = _span(list(self._machine.fabric.plan.ports))
        raise InvalidMachine(f"no switch has a port {name}; {fault.kind} applies to ports with cables, {ports}")


def _names(fault: Fault) -> Iterator[str]:
    return (name for name in sorted(names_in(fault)) if name != ALL_TARGETS)


def _span(xnames: list[str]) -> str:
    """Count, first and last: a machine has thousands of parts."""
    ordered = natural_order(xnames)
    return f"here {len(ordered)} from {ordered[0]} to {ordered[-1]}" if ordered else "none here"


def register_target_checks(machine: Machine, faults: Faults) -> None:
    targets = _Targets(machine)
    for kind in _TYPES:
        faults.register(kind, targets.check_parts)
    for kind in _PORTS:
        faults.register(kind, targets.check_ports)
    faults.register("wrong-cabling", targets.check_swapped_ports)
