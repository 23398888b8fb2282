"""The fault ``port-drift``: changes made on a switch itself, which the Fabric Manager does not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csm_emulator import nodesets
from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.fabric.plan import FabricPlan
from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.machine.faults.faults import ALL_TARGETS, Fault

VLANS = range(1, 4095)
VNIS = range(1, 1 << 16)
ANY = "all"
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def read_drift(fault: Fault, plan: FabricPlan) -> tuple[list[str], dict[str, Any]]:
    """The ports of the fault, and the changes of their state; raises ``InvalidMachine``."""
    if not fault.facts:
        raise InvalidMachine(f"port-drift needs at least one of {'=, '.join(_READ)}=")
    if fault.targets == ALL_TARGETS:
        ports = [port.xname for port in plan.ports.values() if port.edge]
    else:
        ports = nodesets.expand(fault.targets)
    for port in ports:
        if plan.find(port) is None:
            raise InvalidMachine(f"no switch has a port {port}; port names look like x1000c0r3j1p0")
    return ports, {name: _READ[name](value) for name, value in fault.facts.items()}


def _control(value: object) -> bool:
    text = f"{value:g}" if isinstance(value, float) else str(value).lower()
    if text not in _YES + _NO:
        raise InvalidMachine(f"{value!r} is neither true nor false")
    return text in _YES


def _native(value: object) -> int | None:
    return None if value in (None, "none") else _vlan(value)


def _vlan(value: object) -> int:
    return _whole(value, VLANS, "a VLAN")


def _whole(value: object, within: range, what: str) -> int:
    """A whole number within a range; texts are accepted, as the command line sends numbers as texts."""
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.5
    except (ValueError, OverflowError):
        number = 0.5
    if not number.is_integer() or int(number) not in within:
        raise InvalidMachine(f"{what} must be a number from {within[0]} to {within[-1]}, not {value!r}")
    return int(number)


def _allowed(value: object) -> frozenset[int] | None:
    if value == ANY:
        return None
    return frozenset(_vlan(piece) for piece in _pieces(value))


def _vnis(value: object) -> Ranges | None:
    if value == ANY:
        return None
    spans = [str(piece).partition("-") for piece in _pieces(value)]
    ranges = [(_whole(first, VNIS, "a VNI"), _whole(last or first, VNIS, "a VNI")) for first, _, last in spans]
    return join_ranges(span for span in ranges if span[0] <= span[1])


def _pieces(value: object) -> list[object]:
    """The elements of a text such as ``100,200``, of a number, or of a list."""
    if isinstance(value, str):
        return [piece.strip() for piece in value.split(",") if piece.strip()]
    return list(value) if isinstance(value, list) else [value]


_READ: dict[str, Callable[[object], Any]] = {
    "online": _control,
    "native": _native,
    "allowed": _allowed,
    "untagged": _control,
    "vnis": _vnis,
}
