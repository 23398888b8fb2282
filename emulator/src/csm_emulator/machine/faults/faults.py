"""Faults of hardware and of requests, set and cleared while the machine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from csm_emulator import nodesets
from csm_emulator.errors import InvalidMachine, NotFound
from csm_emulator.machine.faults.kinds import KINDS, XNAMES
from csm_emulator.records import Record
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.tables import RecordTable, RecordTables
from csm_emulator.xnames import XnameType, is_xname, parse

ALL_TARGETS = "*"
RESTART = "service-restart"
_PLUGS = frozenset({XnameType.HSN_CONNECTOR_PORT, XnameType.NODE_HSN_NIC})


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its kind, its targets, and how often it applies."""

    id: str
    kind: str
    targets: str = ALL_TARGETS
    """A nodeset or an xname; for services, their names separated by commas. ``*`` is all of them."""
    probability: float = 1.0
    remaining: int | None = None
    """How many more times it applies; None is no limit."""
    facts: dict[str, Any] = field(default_factory=dict)


class Faults:
    """The faults that are set. Call ``trigger`` only when the fault would take effect: it counts as a use."""

    def __init__(self, tables: RecordTables, random: SeededRandom, log: EventLog) -> None:
        self._table: RecordTable[Record] = tables.open("faults")
        self._rolls: RecordTable[int] = tables.open("faults.rolls")
        self._numbers: RecordTable[int] = tables.open("faults.numbers")
        self._random = random
        self._log = log
        self.absent: Callable[[str], bool] = lambda _: False
        """Whether a service has no running pod, which counts as a restart that does not end."""
        self._actions: dict[str, Callable[[Fault], None]] = {}
        self._faults: dict[str, Fault] = {key: Fault(**value) for key, value in self._table.items()}
        self._targets: dict[str, frozenset[str]] = {key: names_in(fault) for key, fault in self._faults.items()}

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults.values())

    def register(self, kind: str, action: Callable[[Fault], None]) -> None:
        """Registers the action for setting a fault of this kind, one per kind; it may raise ``InvalidMachine``."""
        if kind in self._actions:
            raise ValueError(f"{kind} already has an action")
        self._actions[kind] = action

    def set(self, fault: Fault) -> Fault:
        """Sets a fault and returns it normalised; raises ``InvalidMachine`` if it could never apply."""
        fault = _read(fault)
        targets = names_in(fault)
        if not targets or "" in targets:
            raise InvalidMachine(f"{fault.kind} needs targets, not {fault.targets!r}; * is all of them")
        if fault.kind in self._actions:
            self._actions[fault.kind](fault)
        if not KINDS[fault.kind].leaves_nothing:
            self._targets[fault.id] = targets
            self._store(fault)
        self._log.add("fault-set", fault.targets, "control API", fault=asdict(fault))
        return fault

    def new_id(self) -> str:
        """An id that was never used before, since clients may still hold old ids."""
        number = int(self._numbers.get("last", 0)) + 1
        while f"f{number}" in self._faults:
            number += 1
        self._numbers["last"] = number
        return f"f{number}"

    def clear(self, fault_id: str) -> Fault:
        if fault_id not in self._faults:
            raise NotFound(f"no fault {fault_id}; `csm-emulator fault list` lists the faults")
        fault = self._forget(fault_id)
        self._log.add("fault-cleared", fault.targets, "control API", fault=asdict(fault))
        return fault

    def finish(self, fault_id: str) -> None:
        """Removes a fault whose effect has ended."""
        fault = self._faults.get(fault_id)
        if fault is not None:
            self._forget(fault_id)
            self._log.add("fault-used-up", fault.targets, "it is over", fault=asdict(fault))

    def _forget(self, fault_id: str) -> Fault:
        del self._table[fault_id], self._targets[fault_id]
        self._rolls.pop(fault_id, None)
        return self._faults.pop(fault_id)

    def trigger(self, kind: str, *targets: str, when: Callable[[Fault], bool] = lambda _: True) -> Fault | None:
        """The fault of this kind that applies to one of these names now, or None; it counts as a use."""
        for fault in list(self._faults.values()):
            if (
                fault.kind == kind
                and self._is_targeted(fault, targets)
                and when(fault)
                and self._occurs_by_chance(fault)
            ):
                self._use(fault)
                return fault
        return None

    def present(self, kind: str, *targets: str) -> Fault | None:
        """A permanent fault (no probability, no limit) of this kind on one of these names; None if there is none."""
        for fault in self._faults.values():
            is_permanent = fault.probability >= 1 and fault.remaining is None
            if fault.kind == kind and is_permanent and self._is_targeted(fault, targets):
                return fault
        absent = next((target for target in targets if kind == RESTART and self.absent(target)), None)
        return Fault("", kind, absent) if absent else None

    def _is_targeted(self, fault: Fault, targets: tuple[str, ...]) -> bool:
        targeted = self._targets[fault.id]
        return ALL_TARGETS in targeted or any(target in targeted for target in targets)

    def _occurs_by_chance(self, fault: Fault) -> bool:
        if fault.probability >= 1:
            return True
        count = self._rolls.get(fault.id, 0)
        self._rolls[fault.id] = count + 1
        return self._random.roll("fault", fault.id, count) < fault.probability

    def _use(self, fault: Fault) -> None:
        if fault.remaining is None:
            return
        if fault.remaining <= 1:
            self._forget(fault.id)
            self._log.add("fault-used-up", fault.targets, "last use", fault=asdict(fault))
        else:
            self._store(Fault(**{**asdict(fault), "remaining": fault.remaining - 1}))

    def _store(self, fault: Fault) -> None:
        self._faults[fault.id] = fault
        self._table[fault.id] = asdict(fault)


def _read(fault: Fault) -> Fault:
    if fault.kind not in KINDS:
        raise InvalidMachine(f"no kind of fault is called {fault.kind!r}; kinds: {', '.join(KINDS)}")
    if not 0 < fault.probability <= 1:
        raise InvalidMachine(f"probability must be above 0 and at most 1, not {fault.probability}")
    if fault.remaining is not None and fault.remaining < 1:
        raise InvalidMachine(f"remaining must be at least 1, not {fault.remaining}")
    if KINDS[fault.kind].at_once and (fault.remaining is not None or fault.probability < 1):
        raise InvalidMachine(
            f"{fault.kind} happens once, when it is set; it takes no probability and no number of times"
        )
    if fault.kind == "wrong-cabling":
        _check_ports(fault)
    return replace(fault, facts={name: _read_parameter(fault.kind, name, value) for name, value in fault.facts.items()})


def _read_parameter(kind: str, name: str, value: object) -> object:
    parameter_types = KINDS[kind].facts
    if name not in parameter_types:
        parameters = ", ".join(f"{parameter}=" for parameter in parameter_types)
        raise InvalidMachine(f"{kind} takes {parameters or 'no parameters'}, not {name}=")
    try:
        return parameter_types[name].read(value)
    except ValueError as error:
        raise InvalidMachine(f"{kind} takes {name}= {parameter_types[name].takes}, not {value!r}") from error


def _check_ports(fault: Fault) -> None:
    """Raises ``InvalidMachine`` unless the target and ``with=`` are each one switch port or NIC."""
    other_port = fault.facts.get("with")
    for port in (fault.targets, other_port):
        if not isinstance(port, str) or not is_xname(port) or parse(port).type not in _PLUGS:
            raise InvalidMachine(
                "wrong-cabling swaps the cables of two ports, the target and with=, such as with=x1000c0r7j1p0; "
                f"found {fault.targets!r} and {other_port!r}"
            )


def names_in(fault: Fault) -> frozenset[str]:
    """The names of the fault's targets; ``*`` stays as it is."""
    if fault.targets == ALL_TARGETS or KINDS[fault.kind].targets != XNAMES:
        return frozenset(name.strip() for name in fault.targets.split(","))
    return frozenset(nodesets.expand(fault.targets))
