"""Decides what a step does next, from what was observed. Pure.

``judge`` takes a step, its row and an observation and returns the row to write. ``acting`` means: act, once this row is
written. Every decision begins with an observation, so it can be made again after a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from canton.domain.errors import PermanentFailure, Remedy, StepFailure
from canton.domain.json_types import Json, JsonObject, canonical, storable
from canton.domain.operation import StepState
from canton.operations.engine.step_kind import DeviceLimits
from canton.operations.plan.plan import Step
from canton.store.audit import cut
from canton.store.database import SECOND
from canton.store.operations.journal import StepRow

# Bounds of a step's row. A device may answer with megabytes, and one call may serve a thousand steps.
LONGEST_TEXT = 2_000
LONGEST_NAME = 200
LONGEST_OBJECT = 10_000
Observation = JsonObject | StepFailure
Jitter = Callable[[], float]


@dataclass(frozen=True, slots=True)
class DecisionTime:
    """The time of a decision; ``jitter`` draws from 0 to 1, so that many failed steps are not tried again together."""

    now: int
    jitter: Jitter
    observed_at: int
    """The time at which the observation began. A slow answer shows the state of that time, not of now."""
    latest_now: int
    """An upper bound of the database's time; ``now`` and ``observed_at`` are lower bounds.

    The settle time of an act and the hold-down of a goal start at this upper bound and are compared with lower bounds,
    so neither is too short.
    """


def reached(goal: JsonObject, observed: JsonObject) -> bool:
    """Whether everything that the goal names was observed; other observed values do not matter."""
    return all(name in observed and observed[name] == value for name, value in goal.items())


def judge(
    step: Step, row: StepRow, limits: DeviceLimits, observation: Observation, decision_time: DecisionTime
) -> StepRow:
    """The row to write after an observation: done, holding, waiting, failed, or acting."""
    row = _not_in_the_future(decision_time, row)
    if isinstance(observation, StepFailure):
        # Without an observation, a hold-down starts again.
        row = replace(row, tries=row.tries + 1, held_at=None)
        return _after_failure(step, row, limits, observation, decision_time)
    row = replace(row, evidence=_bounded(observation))
    settling = row.acted_at is not None and decision_time.observed_at < row.acted_at + _microseconds(limits.settle)
    # An undo step that never acted has the time of the act that it undoes, which may still take effect.
    if reached(step.goal, observation) and not (settling and row.acts == 0):
        return _at_goal(step, row, limits, decision_time)
    row = replace(row, held_at=None)
    if decision_time.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step))
    if settling:
        return _wait(step, row, limits.poll, decision_time)
    if row.tries >= limits.tries:
        return _failed(row, _tries_spent(step, row))
    return replace(
        row,
        state=StepState.ACTING,
        acts=row.acts + 1,
        tries=row.tries + 1,
        acted_at=decision_time.latest_now,
        not_before=None,
        error=None,
        cause=None,
    )


def judge_act(
    step: Step,
    row: StepRow,
    limits: DeviceLimits,
    observation: Observation,
    answer: StepFailure | None,
    decision_time: DecisionTime,
) -> StepRow:
    """The row to write after an act and its read-back. The observation counts more than the device's answer."""
    # The device may have acted as late as now, at the end of a long call, so its settle time starts here.
    row = replace(
        row, changed_at=decision_time.now, acted_at=None if row.acted_at is None else decision_time.latest_now
    )
    if isinstance(observation, StepFailure):
        return _after_failure(step, row, limits, observation, decision_time)
    row = replace(row, evidence=_bounded(observation))
    if reached(step.goal, observation):
        return _at_goal(step, row, limits, decision_time)
    if answer is not None:
        return _after_failure(step, row, limits, answer, decision_time)
    if decision_time.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step))
    return _wait(step, row, limits.poll, decision_time)


def _not_in_the_future(decision_time: DecisionTime, row: StepRow) -> StepRow:
    """The row without instants in the future, which remain when a clock was set back."""
    return replace(
        row,
        begun_at=min(row.begun_at or decision_time.now, decision_time.now),
        acted_at=None if row.acted_at is None else min(row.acted_at, decision_time.latest_now),
        held_at=None if row.held_at is None else min(row.held_at, decision_time.latest_now),
        changed_at=decision_time.now,
    )


def _at_goal(step: Step, row: StepRow, limits: DeviceLimits, decision_time: DecisionTime) -> StepRow:
    row = replace(row, held_at=decision_time.latest_now if row.held_at is None else row.held_at, error=None, cause=None)
    until = (row.held_at or 0) + _microseconds(step.hold_down)
    if decision_time.observed_at >= until or not step.hold_down:
        return replace(row, state=StepState.DONE, not_before=None)
    next_observation = min(until, decision_time.now + _microseconds(limits.poll))
    return replace(row, state=StepState.HOLDING, not_before=max(decision_time.now, next_observation))


def _after_failure(
    step: Step, row: StepRow, limits: DeviceLimits, failure: StepFailure, decision_time: DecisionTime
) -> StepRow:
    if failure.remedy is not Remedy.TEMPORARY:
        return _failed(row, failure)
    if decision_time.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step, failure))
    if row.tries >= limits.tries:
        return _failed(row, _tries_spent(step, row, failure))
    # The exponent is bounded, because a float overflows beyond 2 ** 1023.
    pause = min(limits.backoff_limit, limits.backoff * 2 ** min(row.tries - 1, 60)) * (0.5 + decision_time.jitter() / 2)
    return _with_failure(_wait(step, row, pause, decision_time), failure)


def _wait(step: Step, row: StepRow, seconds: float, decision_time: DecisionTime) -> StepRow:
    # Never past the deadline: the last observation is at the deadline itself, and decides.
    not_before = min(decision_time.now + _microseconds(seconds), _deadline(step, row))
    return replace(row, state=StepState.WAITING, not_before=not_before)


def _failed(row: StepRow, failure: StepFailure) -> StepRow:
    return _with_failure(replace(row, state=StepState.FAILED, not_before=None), failure)


def _with_failure(row: StepRow, failure: StepFailure) -> StepRow:
    return replace(row, error=describe(failure), cause=cut(str(storable(failure.cause)), LONGEST_TEXT) or None)


def describe(failure: StepFailure) -> JsonObject:
    """A failure without its cause, for everyone who may see the operation. A message may hold any character."""
    message = cut(str(storable(failure.message)), LONGEST_TEXT)
    return {"code": failure.code, "message": message, "details": _bounded(failure.details)}


def _bounded(document: JsonObject) -> JsonObject:
    """A driver's document with a bound for each value and for all together; beyond it, the longest are left out."""
    short = {cut(name, LONGEST_NAME): _bounded_value(storable(value)) for name, value in document.items()}
    sizes = {name: len(canonical({name: value})) for name, value in short.items()}
    room, names = LONGEST_OBJECT, set()
    for name in sorted(short, key=lambda name: sizes[name]):
        room -= sizes[name]
        if room < 0:
            break
        names.add(name)
    return {name: value for name, value in short.items() if name in names}


def _bounded_value(value: Json) -> Json:
    if isinstance(value, str):
        return cut(value, LONGEST_TEXT)
    length = len(canonical(value))
    return value if length <= LONGEST_TEXT else f"(cut: {length} characters)"


def _deadline(step: Step, row: StepRow) -> int:
    return (row.begun_at or 0) + _microseconds(step.deadline)


def _goal(step: Step) -> str:
    """The goal in words: ``power on``."""
    return ", ".join(f"{name} {value}" for name, value in step.goal.items())


def _deadline_passed(step: Step, last: StepFailure | None = None) -> StepFailure:
    last_failure = f"; last: {last.message}" if last else ""
    return PermanentFailure(
        f"{step.target} did not reach {_goal(step)} within {step.deadline:g} s{last_failure}",
        cause=last.cause if last else "",
    )


def _tries_spent(step: Step, row: StepRow, last: StepFailure | None = None) -> StepFailure:
    last_failure = f"; last: {last.message}" if last else ""
    return PermanentFailure(
        f"{step.target} did not reach {_goal(step)} in {row.tries} tries{last_failure}",
        cause=last.cause if last else "",
    )


def _microseconds(seconds: float) -> int:
    return round(seconds * SECOND)
