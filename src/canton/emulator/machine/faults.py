"""What is wrong with the machine and with the wire, switchable while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from canton.domain import nodeset
from canton.domain.errors import InvalidMachine, NotFound
from canton.domain.xname import XnameType, is_xname, parse
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.shelves import Shelves
from canton.emulator.machine.truth_log import TruthLog

KINDS = {
    "no-power-on": "the node takes the order and stays off",
    "boot-hangs": "the node stops at a stage (stage=post, pxe, kernel or systemd; kernel when not said)",
    "bmc-unreachable": "the controller answers nobody: no Redfish, no power, no discovery",
    "pcs-failure": "PCS reports the task of this component as failed",
    "lost-response": "the request is carried out and the connection is closed without an answer",
    "doubled-response": "the request is carried out twice, as behind a proxy that retries; the second answer is given",
    "server-error": "the service answers 503 (status=500 to 504) and does nothing",
    "latency": "the answer comes later (seconds=, real time)",
    "token-expiry": "tokens that were given out before count as expired",
    "service-restart": "the service is away (seconds=, virtual time, 30 when not said) and then starts anew",
    "stale-inventory": "HSM hears nothing of what happens to the component",
    "wrong-cabling": "the cables of two switch ports are swapped (with=, the other port)",
    "disk-remnants": "the node's disks hold files of the last tenant (of=, whose)",
    "cfs-layer-fails": "a task of a CFS layer fails on the node (layer=, its name or number; task=, part of its name)",
    "cfs-session-stuck": "the CFS session, by its name, stays pending",
    "bos-unknown-member": "BOS does not know the node, though HSM has it in a group",
    "fm-no-effect": "the Fabric Manager says yes and the switch port stays as it was",
    "enforcement-failed": "the enforcement of the VNI partition or block, by its name, ends FAILED",
    "slow-barrier": "what the Fabric Manager orders of the port comes later (seconds=, virtual time, 60 when not said)",
    "port-drift": "somebody else changes the switch port, once (online=, native=, allowed=, untagged=, vnis=)",
    "image-job-stuck": "the IMS job, by its id or its image's name, goes no further (status=, where)",
    "upload-cut": "an upload into the S3 bucket breaks off in the middle, and nothing is stored",
    "console-restart": "the console pod is away (seconds=, virtual time, 30 when not said), and drops its connections",
}
WIRE = frozenset({"lost-response", "doubled-response", "server-error", "latency", "token-expiry", "service-restart"})
"""Their targets are services, by name."""
NAMED = frozenset({"cfs-session-stuck", "enforcement-failed", "image-job-stuck", "upload-cut", "console-restart"})
"""Their targets are names of other things; all the rest's are xnames."""
EVERYTHING = "*"
LONGEST = 366 * 86400.0
_NUMBERS = {
    "latency": ("seconds", 0.0, LONGEST),
    "service-restart": ("seconds", 0.0, LONGEST),
    "server-error": ("status", 500, 504),
    "token-expiry": ("before", 0.0, 1e12),
    "slow-barrier": ("seconds", 0.0, LONGEST),
    "console-restart": ("seconds", 0.0, LONGEST),
}
"""A fact that is a number, and its least and most."""
_STAGES = ("post", "pxe", "kernel", "systemd")
_PLUGS = frozenset({XnameType.HSN_CONNECTOR_PORT, XnameType.NODE_HSN_NIC})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, for whom and how often."""

    id: str
    kind: str
    targets: str = EVERYTHING
    """A nodeset or an xname; for the wire, services with commas between. ``*`` is all of them."""
    probability: float = 1.0
    remaining: int | None = None
    """How many times more; None for always."""
    facts: dict[str, Any] = field(default_factory=dict)


class Faults:
    """Ask ``strikes`` at the moment at which the thing would go wrong: it counts."""

    def __init__(self, shelves: Shelves, dice: Dice, log: TruthLog) -> None:
        self._shelf = shelves.open("faults")
        self._rolls = shelves.open("faults.rolls")
        self._numbers = shelves.open("faults.numbers")
        self._dice = dice
        self._log = log
        self._actions: dict[str, Callable[[Fault], None]] = {}
        self._faults: dict[str, Fault] = {key: Fault(**value) for key, value in self._shelf.items()}
        self._targets: dict[str, frozenset[str]] = {key: _targets(fault) for key, fault in self._faults.items()}

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults.values())

    def answer(self, kind: str, action: Callable[[Fault], None]) -> None:
        """What is done at once when such a fault is set; each kind has one answer, which may refuse."""
        if kind in self._actions:
            raise ValueError(f"{kind} is answered already")
        self._actions[kind] = action

    def set(self, fault: Fault) -> Fault:
        _check(fault)
        if fault.kind in self._actions:
            self._actions[fault.kind](fault)
        self._targets[fault.id] = _targets(fault)
        self._keep(fault)
        self._log.add("fault-set", fault.targets, "side channel", fault=asdict(fault))
        return fault

    def new_id(self) -> str:
        """Never one of before: somebody may still mean the other by it."""
        number = int(self._numbers.get("last", 0)) + 1
        while f"f{number}" in self._faults:
            number += 1
        self._numbers["last"] = number
        return f"f{number}"

    def clear(self, fault_id: str) -> Fault:
        if fault_id not in self._faults:
            raise NotFound(f"no fault {fault_id}; `canton emulate fault list` shows them")
        fault = self._forget(fault_id)
        self._log.add("fault-cleared", fault.targets, "side channel", fault=asdict(fault))
        return fault

    def _forget(self, fault_id: str) -> Fault:
        del self._shelf[fault_id], self._targets[fault_id]
        self._rolls.pop(fault_id, None)
        return self._faults.pop(fault_id)

    def strikes(self, kind: str, *targets: str, when: Callable[[Fault], bool] = lambda _: True) -> Fault | None:
        """The fault that hits any of these names now, if one does; one use of it is gone."""
        for fault in list(self._faults.values()):
            if fault.kind == kind and self._aims(fault, targets) and when(fault) and self._lucky(fault):
                self._use(fault)
                return fault
        return None

    def present(self, kind: str, *targets: str) -> Fault | None:
        """The lasting fault that is there: not one that strikes now and then, or so many times."""
        for fault in self._faults.values():
            lasting = fault.probability >= 1 and fault.remaining is None
            if fault.kind == kind and lasting and self._aims(fault, targets):
                return fault
        return None

    def _aims(self, fault: Fault, targets: tuple[str, ...]) -> bool:
        aimed = self._targets[fault.id]
        return EVERYTHING in aimed or any(target in aimed for target in targets)

    def _lucky(self, fault: Fault) -> bool:
        if fault.probability >= 1:
            return True
        count = self._rolls.get(fault.id, 0)
        self._rolls[fault.id] = count + 1
        return self._dice.roll("fault", fault.id, count) < fault.probability

    def _use(self, fault: Fault) -> None:
        if fault.remaining is None:
            return
        if fault.remaining <= 1:
            self._forget(fault.id)
            self._log.add("fault-used-up", fault.targets, "last use", fault=asdict(fault))
        else:
            self._keep(Fault(**{**asdict(fault), "remaining": fault.remaining - 1}))

    def _keep(self, fault: Fault) -> None:
        self._faults[fault.id] = fault
        self._shelf[fault.id] = asdict(fault)


def _check(fault: Fault) -> None:
    if fault.kind not in KINDS:
        raise InvalidMachine(f"no fault is called {fault.kind!r}; there are {', '.join(KINDS)}")
    if not 0 < fault.probability <= 1:
        raise InvalidMachine(f"a probability is above 0 and at most 1, not {fault.probability}")
    if fault.remaining is not None and fault.remaining < 1:
        raise InvalidMachine(f"a fault strikes at least once, not {fault.remaining} times")
    if fault.kind == "boot-hangs" and fault.facts.get("stage", _STAGES[0]) not in _STAGES:
        raise InvalidMachine(f"a boot hangs at stage={' or '.join(_STAGES)}, not {fault.facts['stage']!r}")
    if fault.kind == "wrong-cabling":
        _check_ports(fault)
    if fault.kind == "service-restart" and (fault.remaining is not None or fault.probability < 1):
        raise InvalidMachine(
            "a service restarts at once and for seconds=; it has no probability and no number of times"
        )
    if fault.kind in _NUMBERS:
        _check_number(fault, *_NUMBERS[fault.kind])


def _check_number(fault: Fault, name: str, least: float, most: float) -> None:
    value = fault.facts.get(name, least)
    fits = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    if not fits or math.isnan(value):
        raise InvalidMachine(f"{fault.kind} takes {name}= from {least:g} to {most:g}, not {value!r}")


def _check_ports(fault: Fault) -> None:
    """Both ends of a swap are ports of switches, or NICs: one target and one ``with``."""
    other = fault.facts.get("with")
    for port in (fault.targets, other):
        if not isinstance(port, str) or not is_xname(port) or parse(port).type not in _PLUGS:
            raise InvalidMachine(
                "wrong-cabling swaps the cables of two ports, one as target, the other as with=x1000c0r7j1p0; "
                f"found {fault.targets!r} and {other!r}"
            )


def _targets(fault: Fault) -> frozenset[str]:
    if fault.targets == EVERYTHING or fault.kind in WIRE | NAMED:
        return frozenset(name.strip() for name in fault.targets.split(","))
    return frozenset(nodeset.expand(fault.targets))
