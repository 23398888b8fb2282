"""A plan: what would be done, as data.

Steps form a DAG. Each names the *goal* that a read-back must show, so nothing is done because a device said
200. The digest covers the whole plan and the versions of everything it was computed from: equal digests mean
the same work on the same state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

from canton.domain.errors import InvalidPlan, PlanMoved
from canton.domain.json_types import JsonObject, canonical, digest
from canton.domain.lifecycle import NodeEvent

FORMAT = 1
# Without spaces: an operation keeps its kinds as one text, separated by them.
_KIND = re.compile(r"\w+/[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Undo:
    """How a step is taken back: another kind (or the same) brings its target to another goal."""

    kind: str
    goal: JsonObject
    args: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One goal for one target.

    ``device`` is the device whose limit applies; steps of one device and kind may share a call. A step that is not
    ``interruptible`` belongs to a stretch that a cancelled operation still finishes. The goal must be observed for
    ``hold_down`` seconds without a break before the step is done.
    """

    n: int
    kind: str
    target: str
    device: str
    goal: JsonObject
    args: JsonObject = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    deadline: float = 600.0
    hold_down: float = 0.0
    interruptible: bool = True
    undo: Undo | None = None

    def backwards(self, needs: tuple[int, ...]) -> Step | None:
        """The step that undoes this one, numbered by the negative; None where there is nothing to undo."""
        if self.undo is None:
            return None
        return Step(
            n=-self.n,
            kind=self.undo.kind,
            target=self.target,
            device=self.device,
            goal=self.undo.goal,
            args=self.undo.args,
            needs=needs,
            deadline=self.deadline,
            hold_down=self.hold_down,
        )


@dataclass(frozen=True, slots=True)
class LifecycleChange:
    """The events of a node's life cycle when the operation starts, succeeds or has been undone."""

    node: str
    start: NodeEvent | None = None
    done: NodeEvent | None = None
    undone: NodeEvent | None = None
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    kind: str
    summary: str
    steps: tuple[Step, ...]
    nodes: tuple[str, ...] = ()
    inputs: Mapping[str, int] = field(default_factory=dict)
    tenant: str | None = None
    moves: tuple[LifecycleChange, ...] = ()

    @property
    def digest(self) -> str:
        return digest(to_json(self))

    @property
    def step_kinds(self) -> str:
        """Every kind this plan may need, undo included, as one sorted text that a worker can compare."""
        kinds = {step.kind for step in self.steps} | {step.undo.kind for step in self.steps if step.undo}
        return " ".join(sorted(kinds))


def check(plan: Plan) -> Plan:
    """Refuse a plan that cannot be carried out; planners and the store pass every plan through here."""
    numbers = [step.n for step in plan.steps]
    if numbers != list(range(1, len(numbers) + 1)):
        raise InvalidPlan(f"plan {plan.kind}: steps must be numbered 1 to {len(numbers)}, found {numbers}")
    for step in plan.steps:
        _check_step(plan, step, len(numbers))
    try:
        TopologicalSorter({step.n: step.needs for step in plan.steps}).prepare()
    except CycleError as error:
        raise InvalidPlan(f"plan {plan.kind}: steps wait for each other in a circle: {error.args[1]}") from error
    moved = {change.node for change in plan.moves} - set(plan.nodes)
    if moved:
        raise InvalidPlan(f"plan {plan.kind}: moves nodes that it does not claim: {sorted(moved)}")
    if len({change.node for change in plan.moves}) < len(plan.moves):
        raise InvalidPlan(f"plan {plan.kind}: moves a node twice")
    for change in plan.moves:
        if change.start and not (change.done and change.undone):
            raise InvalidPlan(f"plan {plan.kind}: {change.node} starts with {change.start} and must say how it ends")
    return plan


def _check_step(plan: Plan, step: Step, count: int) -> None:
    where = f"plan {plan.kind}, step {step.n} ({step.kind} {step.target})"
    for kind in (step.kind, step.undo.kind if step.undo else step.kind):
        if not _KIND.fullmatch(kind):
            raise InvalidPlan(f'{where}: kind "{kind}" is not a name and a version, such as set_power/1')
    unknown = [n for n in step.needs if not 1 <= n <= count]
    if unknown:
        raise InvalidPlan(f"{where}: needs steps {unknown}, which the plan does not have")
    if not step.goal or (step.undo and not step.undo.goal):
        raise InvalidPlan(f"{where}: has no goal, so nothing could ever show that it is done")
    if not (step.deadline > 0 and step.hold_down >= 0 and isfinite(step.deadline + step.hold_down)):
        raise InvalidPlan(f"{where}: deadline must be positive, hold_down not negative, and both finite")


def undo_steps(plan: Plan, acted: frozenset[int]) -> tuple[Step, ...]:
    """The steps that take back ``acted``, in reverse order: a step is undone after everything built upon it."""
    undoable = {step.n for step in plan.steps if step.undo and step.n in acted}
    above: dict[int, set[int]] = {step.n: set() for step in plan.steps}
    by_number = {step.n: step for step in plan.steps}
    order = tuple(TopologicalSorter({step.n: step.needs for step in plan.steps}).static_order())
    for n in reversed(order):
        for need in by_number[n].needs:
            above[need] |= {-n} if n in undoable else above[n]
    backwards = (by_number[n].backwards(tuple(sorted(above[n]))) for n in sorted(undoable, reverse=True))
    return tuple(step for step in backwards if step is not None)


def refuse_if_moved(reviewed: Plan, current: Plan) -> None:
    """Raise PlanMoved, with the differences, unless the reviewed plan is the one that would run now."""
    if reviewed.digest == current.digest:
        return
    moved = moved_inputs(reviewed.inputs, current.inputs)
    reviewed_steps = {step.n: canonical(asdict(step)) for step in reviewed.steps}
    current_steps = {step.n: canonical(asdict(step)) for step in current.steps}
    steps = sorted(
        n for n in reviewed_steps.keys() | current_steps.keys() if reviewed_steps.get(n) != current_steps.get(n)
    )
    facts = [*moved, *([f"steps {steps} differ"] if steps else [])] or ["the request differs"]
    raise PlanMoved(
        f"plan {reviewed.digest} was reviewed, but the state has changed since: {'; '.join(facts)}. "
        "Review the new plan with a dry run and execute that one",
        reviewed=reviewed.digest,
        current=current.digest,
        moved=moved,
        steps=steps,
    )


def moved_inputs(planned: Mapping[str, int], current: Mapping[str, int]) -> list[str]:
    """One sentence for each input whose version is not what the plan was made from."""
    return [
        f"{name} went from version {planned.get(name, 'none')} to {current.get(name, 'none')}"
        for name in sorted(planned.keys() | current.keys())
        if planned.get(name) != current.get(name)
    ]


def to_json(plan: Plan) -> JsonObject:
    """The stored form; the names of the fields are the format, pinned by a test."""
    return {
        "format": FORMAT,
        **_fields(plan),
        "steps": [{**_fields(step), "undo": _fields(step.undo) if step.undo else None} for step in plan.steps],
        "moves": [_fields(change) for change in plan.moves],
    }


def _fields(value: Plan | Step | Undo | LifecycleChange) -> dict[str, Any]:
    """As ``asdict``, without copying what is inside: a plan for 10,000 nodes is written several times."""
    return {name: getattr(value, name) for name in value.__slots__}


def from_json(body: str) -> Plan:
    """Read a stored plan; a format this code does not know is refused, never guessed."""
    document: dict[str, Any] = json.loads(body)
    format_number = document.pop("format", None)
    if format_number != FORMAT:
        raise InvalidPlan(
            f"the stored plan has format {format_number}, this version reads format {FORMAT}; "
            "run the version that wrote it until its operations have ended",
            found=format_number,
        )
    return Plan(
        **document
        | {
            "nodes": tuple(document["nodes"]),
            "moves": tuple(_change_from_json(change) for change in document["moves"]),
            "steps": tuple(_step_from_json(step) for step in document["steps"]),
        }
    )


def _change_from_json(document: dict[str, Any]) -> LifecycleChange:
    events = {at: NodeEvent(document[at]) if document[at] else None for at in ("start", "done", "undone")}
    return LifecycleChange(**document | events)


def _step_from_json(document: dict[str, Any]) -> Step:
    undo = Undo(**document["undo"]) if document["undo"] else None
    return Step(**document | {"needs": tuple(document["needs"]), "undo": undo})
