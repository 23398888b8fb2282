"""One step: what it saw decides what happens next. Pure.

``judge`` takes a step, its row and a sighting and answers with the row to write. ``acting`` means: act now, once
this row is written. Everything a crash may interrupt is decided by looking first, so it can be decided again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from canton.domain.data import Json, JsonObject, canonical, storable
from canton.domain.errors import PermanentFailure, Remedy, StepFailure
from canton.domain.operation import StepState
from canton.operations.engine.step_kind import Pace
from canton.operations.plan.plan import Step
from canton.store.audit import cut
from canton.store.database import SECOND
from canton.store.operations.journal import StepRow

# Of a step's row. A device may answer with megabytes, and one call may be the cause of a thousand steps.
LONGEST_TEXT = 2_000
LONGEST_NAME = 200
LONGEST_OBJECT = 10_000
Observation = JsonObject | StepFailure
Jitter = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a judgement is made; ``jitter`` draws from 0 to 1, so that many failures do not come back at once."""

    now: int
    jitter: Jitter
    looked_at: int
    """When the look began. A slow answer shows what was there then, not what is there now."""
    latest: int
    """``now`` and ``looked_at`` are not later than the database's time, and this is not earlier: a time that an act
    or a sight has to last begins here, so that it is over for those two only when it is over."""


def reached(goal: JsonObject, observed: JsonObject) -> bool:
    """The goal is reached when everything it names is seen; what else is seen does not matter."""
    return all(name in observed and observed[name] == value for name, value in goal.items())


def judge(step: Step, row: StepRow, pace: Pace, observation: Observation, moment: Moment) -> StepRow:
    """What to write after a look: done, holding, waiting, failed, or acting."""
    row = _not_in_the_future(moment, row)
    if isinstance(observation, StepFailure):
        # What cannot be seen is not in sight: a hold-down starts afresh.
        row = replace(row, tries=row.tries + 1, held_at=None)
        return _after_failure(step, row, pace, observation, moment)
    row = replace(row, evidence=_bounded(observation))
    settling = row.acted_at is not None and moment.looked_at < row.acted_at + _microseconds(pace.settle)
    # An undo step that never acted has the last act of what it undoes: that may still show and take the goal away.
    if reached(step.goal, observation) and not (settling and row.acts == 0):
        return _at_goal(step, row, pace, moment)
    row = replace(row, held_at=None)
    if moment.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step))
    if settling:
        return _wait(step, row, pace.poll, moment)
    if row.tries >= pace.tries:
        return _failed(row, _tries_spent(step, row))
    return replace(
        row,
        state=StepState.ACTING,
        acts=row.acts + 1,
        tries=row.tries + 1,
        acted_at=moment.latest,
        not_before=None,
        error=None,
        cause=None,
    )


def judge_act(
    step: Step, row: StepRow, pace: Pace, observation: Observation, answer: StepFailure | None, moment: Moment
) -> StepRow:
    """What to write after an act and its read-back. What is seen outranks what the device answered."""
    # The device may have acted as late as now, at the end of a long call: from here it has its time to show.
    row = replace(row, changed_at=moment.now, acted_at=None if row.acted_at is None else moment.latest)
    if isinstance(observation, StepFailure):
        return _after_failure(step, row, pace, observation, moment)
    row = replace(row, evidence=_bounded(observation))
    if reached(step.goal, observation):
        return _at_goal(step, row, pace, moment)
    if answer is not None:
        return _after_failure(step, row, pace, answer, moment)
    if moment.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step))
    return _wait(step, row, pace.poll, moment)


def _not_in_the_future(moment: Moment, row: StepRow) -> StepRow:
    """Nothing was begun, done or seen later than now, whatever a clock said that was set back since."""
    return replace(
        row,
        begun_at=min(row.begun_at or moment.now, moment.now),
        acted_at=None if row.acted_at is None else min(row.acted_at, moment.latest),
        held_at=None if row.held_at is None else min(row.held_at, moment.latest),
        changed_at=moment.now,
    )


def _at_goal(step: Step, row: StepRow, pace: Pace, moment: Moment) -> StepRow:
    row = replace(row, held_at=moment.latest if row.held_at is None else row.held_at, error=None, cause=None)
    until = (row.held_at or 0) + _microseconds(step.hold_down)
    if moment.looked_at >= until or not step.hold_down:
        return replace(row, state=StepState.DONE, not_before=None)
    next_look = min(until, moment.now + _microseconds(pace.poll))
    return replace(row, state=StepState.HOLDING, not_before=max(moment.now, next_look))


def _after_failure(step: Step, row: StepRow, pace: Pace, failure: StepFailure, moment: Moment) -> StepRow:
    if failure.remedy is not Remedy.TEMPORARY:
        return _failed(row, failure)
    if moment.now >= _deadline(step, row):
        return _failed(row, _deadline_passed(step, failure))
    if row.tries >= pace.tries:
        return _failed(row, _tries_spent(step, row, failure))
    # Beyond 2 ** 60 a float has no use for the power, and beyond 2 ** 1023 no room.
    pause = min(pace.backoff_limit, pace.backoff * 2 ** min(row.tries - 1, 60)) * (0.5 + moment.jitter() / 2)
    return _with_failure(_wait(step, row, pause, moment), failure)


def _wait(step: Step, row: StepRow, seconds: float, moment: Moment) -> StepRow:
    # Never past the deadline: the last look is at the deadline itself, and decides.
    not_before = min(moment.now + _microseconds(seconds), _deadline(step, row))
    return replace(row, state=StepState.WAITING, not_before=not_before)


def _failed(row: StepRow, failure: StepFailure) -> StepRow:
    return _with_failure(replace(row, state=StepState.FAILED, not_before=None), failure)


def _with_failure(row: StepRow, failure: StepFailure) -> StepRow:
    return replace(row, error=describe(failure), cause=cut(str(storable(failure.cause)), LONGEST_TEXT) or None)


def describe(failure: StepFailure) -> JsonObject:
    """A failure as those see it who may see the operation: without its cause. A message may hold any character."""
    message = cut(str(storable(failure.message)), LONGEST_TEXT)
    return {"code": failure.code, "message": message, "details": _bounded(failure.details)}


def _bounded(document: JsonObject) -> JsonObject:
    """What a driver says, with a bound for each value and for all together; beyond it, the longest are left out."""
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
    """``power on``: as a sentence has it."""
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
