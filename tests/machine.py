"""A pretend machine for engine tests: devices in memory, step kinds that talk to them, plans over them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from canton.domain.data import Json, JsonObject
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.operations.kinds import Call, Pace
from canton.operations.plan import Plan, Step, Undo
from canton.store import nodes
from canton.store.database import Database

QUICK = Pace(timeout=2.0, settle=0.0, poll=0.02, tries=4, backoff=0.01, backoff_limit=0.05)


@dataclass
class Machine:
    """What the devices show, what they were told, and how they are to misbehave next."""

    values: dict[str, Json] = field(default_factory=dict)
    acts: list[tuple[str, Json]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    refuse: dict[str, list[StepFailure]] = field(default_factory=lambda: defaultdict(list))
    blind: list[StepFailure] = field(default_factory=list)
    deaf: set[str] = field(default_factory=set)
    lose_answers: int = 0

    def read(self, targets: Sequence[str]) -> dict[str, Json]:
        self.calls["observe"] += 1
        if self.blind:
            raise self.blind.pop(0)
        return {target: self.values.get(target) for target in targets}

    def write(self, wanted: Mapping[str, Json]) -> dict[str, StepFailure]:
        self.calls["act"] += 1
        refused: dict[str, StepFailure] = {}
        for target, value in wanted.items():
            if self.refuse[target]:
                refused[target] = self.refuse[target].pop(0)
                continue
            self.acts.append((target, value))
            if target not in self.deaf:
                self.values[target] = value
        if self.lose_answers:
            self.lose_answers -= 1
            raise TemporaryFailure("connection lost")
        return refused


class SetValue:
    """``set_value/1``: a target shows a value."""

    def __init__(self, machine: Machine, pace: Pace = QUICK, name: str = "set_value/1") -> None:
        self.machine = machine
        self.pace = pace
        self.name = name

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        seen = self.machine.read([call.step.target for call in calls])
        return {call.step.n: {"value": seen[call.step.target]} for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        refused = self.machine.write({call.step.target: call.step.goal["value"] for call in calls})
        return {call.step.n: refused[call.step.target] for call in calls if call.step.target in refused}


def set_value(n: int, target: str, value: Json = "on", *, needs: tuple[int, ...] = (), back: Json = None) -> Step:
    undo = Undo("set_value/1", {"value": back}) if back is not None else None
    return Step(n, "set_value/1", target, "device", {"value": value}, needs=needs, undo=undo)


def plan_of(*steps: Step, nodes: tuple[str, ...] = (), tenant: str | None = None) -> Plan:
    return Plan("test", "a test", steps, nodes=nodes, tenant=tenant)


def xname(n: int) -> str:
    return f"x1000c0s{n}b0n0"


def add_nodes(database: Database, count: int, state: NodeState = NodeState.FREE) -> list[str]:
    names = [xname(n) for n in range(count)]
    with database.write() as connection:
        nodes.add(connection, [Node(name, n, state, None, 1) for n, name in enumerate(names)])
    return names


def permanent(message: str = "refused") -> StepFailure:
    return PermanentFailure(message)


def temporary(message: str = "busy") -> StepFailure:
    return TemporaryFailure(message)
