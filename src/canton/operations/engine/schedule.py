"""Decides which steps can run now, and in which state an operation rests when none can. Pure.

A failed step stops only the steps that depend on it: the others go on as far as they can before a person has to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from canton.domain.json_types import JsonObject
from canton.domain.operation import UNDER_WAY, OperationState, StepState
from canton.operations.plan.plan import Plan, Step, undo_steps
from canton.store.database import SECOND
from canton.store.operations.journal import StepRow


@dataclass(frozen=True, slots=True)
class RestingState:
    """The next state of an operation of which no step runs, or the time at which it is due again."""

    state: OperationState | None = None
    due_at: int | None = None
    attention: JsonObject | None = None


class StepSchedule:
    """The steps of one direction of one operation, kept up to date with their rows."""

    def __init__(self, steps: Sequence[Step], rows: Mapping[int, StepRow], direction: OperationState) -> None:
        self.steps = {step.n: step for step in steps}
        self.rows = dict(rows)
        self.direction = direction
        self.running: set[int] = set()
        self._dependents: dict[int, list[int]] = defaultdict(list)
        self._unmet: dict[int, int] = {}
        self._ready: set[int] = set()
        for step in steps:
            self._track(step)

    def _track(self, step: Step) -> None:
        unmet = [need for need in step.needs if self.rows[need].state is not StepState.DONE]
        for need in unmet:
            self._dependents[need].append(step.n)
        self._unmet[step.n] = len(unmet)
        self._make_ready(step.n)

    def _make_ready(self, n: int) -> None:
        if self._unmet[n] == 0 and self.rows[n].state in UNDER_WAY | {StepState.PENDING}:
            self._ready.add(n)

    def start(self, now: int, sizes: Mapping[str, int], *, cancelled: bool) -> list[list[Step]]:
        """Take every step that may run now, in batches of one kind and one device."""
        steps = [self.steps[n] for n in sorted(self._ready, key=abs) if self._may_start(n, now, cancelled)]
        self._ready -= {step.n for step in steps}
        self.running |= {step.n for step in steps}
        return list(_batches(steps, sizes))

    def _may_start(self, n: int, now: int, cancelled: bool) -> bool:
        return not (cancelled and self._withheld(n)) and _is_due(self.rows[n], now)

    def withholds(self, row: StepRow) -> bool:
        """Whether a cancel prevents this step: it has not acted, and does not belong to an uninterruptible stretch.

        A step that was only observed, or waits to be observed again, has not acted.
        """
        return row.acts == 0 and self.steps[row.n].interruptible

    def _withheld(self, n: int) -> bool:
        return self.withholds(self.rows[n])

    def update(self, row: StepRow) -> None:
        """Take a row that was written; steps that needed it may now run."""
        self.rows[row.n] = row
        if row.state is StepState.DONE:
            for n in self._dependents[row.n]:
                self._unmet[n] -= 1
                self._make_ready(n)

    def finish(self, numbers: Iterable[int]) -> None:
        """Take the end of a batch; its steps that are not done may run again when they are due."""
        for n in numbers:
            self.running.discard(n)
            self._make_ready(n)

    def next_timer(self, *, cancelled: bool) -> int | None:
        """When the next step that may run is due."""
        timers = (self.rows[n].not_before or 0 for n in self._ready if not (cancelled and self._withheld(n)))
        return min(timers, default=None)

    def reset_unacted(self) -> list[StepRow]:
        """The rows of a cancelled operation's steps that have not acted, reset to pending."""
        return [
            replace(self.rows[n], state=StepState.PENDING, tries=0, begun_at=None, held_at=None, not_before=None)
            for n in self._ready
            if self._withheld(n) and self.rows[n].state is not StepState.PENDING
        ]

    def rest(self, cancel_by: str | None) -> RestingState:
        """The resting state of the operation, once no step runs and none can start."""
        timers = [n for n in self._ready if not (cancel_by and self._withheld(n))]
        if timers:
            return RestingState(due_at=min(self.rows[n].not_before or 0 for n in timers))
        if all(row.state is StepState.DONE for row in self.rows.values()):
            return RestingState(OperationState.UNDONE if self._undoing else OperationState.DONE)
        failed = [row for row in self.rows.values() if row.state is StepState.FAILED]
        if not failed and not any(row.acts for row in self.rows.values()):
            return RestingState(OperationState.CANCELLED)
        return RestingState(OperationState.NEEDS_ATTENTION, attention=self._attention(failed))

    @property
    def _undoing(self) -> bool:
        return self.direction is OperationState.UNDOING

    def _attention(self, failed: Sequence[StepRow]) -> JsonObject:
        withheld = [self.steps[n] for n in sorted(self._ready)]
        point = ", ".join(f"{step.n} ({step.kind} {step.target})" for step in withheld)
        if failed:
            reason = f"{len(failed)} of {len(self.rows)} steps failed"
        else:
            # The actor is in ``cancel_requested_by``, which not every reader of the operation may see.
            reason = f"cancelled; stopped at a safe point, before step {point}"
        return {
            "reason": reason,
            "stopped_before": [step.n for step in withheld],
            "failed": [{"n": r.n, "kind": r.kind, "target": r.target, "error": r.error} for r in failed],
            "choices": choices(self.direction),
        }


def choices(direction: OperationState) -> list[str]:
    """The interventions that are possible for an operation that needs attention; an undo cannot be undone."""
    return ["retry", "abandon"] if direction is OperationState.UNDOING else ["retry", "undo", "abandon"]


def make_schedule(plan: Plan, rows: Sequence[StepRow], state: OperationState) -> StepSchedule:
    """The schedule of an operation from its rows; undo steps have negative numbers."""
    undoing = state is OperationState.UNDOING
    side = {row.n: row for row in rows if (row.n < 0) == undoing}
    steps = undo_steps(plan, frozenset(-n for n in side)) if undoing else plan.steps
    return StepSchedule(steps, side, state)


def _is_due(row: StepRow, now: int) -> bool:
    # A row from the future means that the clock was set back: its timer is not valid, so observe now.
    return row.not_before is None or now >= row.not_before or row.changed_at > now + SECOND


def _batches(steps: Sequence[Step], sizes: Mapping[str, int]) -> Iterator[list[Step]]:
    together: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in steps:
        together[step.kind, step.device].append(step)
    for (kind, _), members in together.items():
        size = sizes[kind]
        for start in range(0, len(members), size):
            yield members[start : start + size]
