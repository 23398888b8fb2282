"""The schedule of steps: which run now, in which batches, and the state in which an operation rests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.json_types import JsonObject
from canton.domain.operation import OperationState, StepState
from canton.operations.engine.schedule import RestingState, StepSchedule, make_schedule
from canton.operations.plan.plan import Plan, Step, Undo, check, undo_steps
from canton.store.database import SECOND
from canton.store.operations.journal import StepRow

S, Op = StepState, OperationState
NOW = 1_700_000_000 * SECOND
KIND = "set_value/1"
SIZES = {KIND: 1, "set_port/1": 2}


def step(
    n: int, *needs: int, kind: str = KIND, device: str = "d", interruptible: bool = True, undo: bool = False
) -> Step:
    return Step(
        n,
        kind,
        f"t{n}",
        device,
        {"value": 1},
        needs=needs,
        interruptible=interruptible,
        undo=Undo(KIND, {"value": 0}) if undo else None,
    )


def plan_of(*steps: Step) -> Plan:
    return check(Plan("test", "a test", steps))


def fresh(steps: Iterable[Step]) -> dict[int, StepRow]:
    return {step.n: StepRow(step.n, step.kind, step.target) for step in steps}


def board_of(*steps: Step, states: Mapping[int, StepState] | None = None, **fields: int) -> StepSchedule:
    rows = fresh(plan_of(*steps).steps)
    for n, state in (states or {}).items():
        rows[n] = replace(rows[n], state=state, **fields)  # type: ignore[arg-type]
    return StepSchedule(steps, rows, Op.RUNNING)


def timer(schedule: StepSchedule, *, cancelled: bool = False) -> int | None:
    return schedule.next_timer(cancelled=cancelled)


def start(schedule: StepSchedule, *, now: int = NOW, cancelled: bool = False) -> list[list[int]]:
    return [[step.n for step in batch] for batch in schedule.start(now, SIZES, cancelled=cancelled)]


def end(schedule: StepSchedule, n: int, state: StepState = S.DONE, **fields: int) -> None:
    """Report the end of a started step to the schedule, as a drive does."""
    error: JsonObject | None = {"message": "no"} if state is S.FAILED else None
    schedule.update(replace(schedule.rows[n], state=state, error=error, **fields))  # type: ignore[arg-type]
    schedule.finish([n])


def test_a_step_waits_for_everything_it_needs() -> None:
    schedule = board_of(step(1), step(2), step(3, 1, 2))
    assert start(schedule) == [[1], [2]]
    end(schedule, 1)
    assert start(schedule) == []
    end(schedule, 2)
    assert start(schedule) == [[3]]
    end(schedule, 3)
    assert schedule.rest(None) == RestingState(Op.DONE)


def test_what_runs_is_not_started_again() -> None:
    schedule = board_of(step(1))
    assert start(schedule) == [[1]]
    assert schedule.running == {1}
    assert start(schedule) == []
    schedule.finish([1])
    assert schedule.running == set()
    assert start(schedule) == [[1]]


def test_a_schedule_from_rows_goes_on_where_they_are() -> None:
    """As after a crash: done steps stay done, steps under way are observed again."""
    rows = fresh([step(1), step(2, 1), step(3, 1), step(4, 2)])
    rows[1] = replace(rows[1], state=S.DONE)
    rows[2] = replace(rows[2], state=S.ACTING, acts=1, acted_at=NOW)
    schedule = make_schedule(plan_of(step(1), step(2, 1), step(3, 1), step(4, 2)), list(rows.values()), Op.RUNNING)
    assert start(schedule) == [[2], [3]]


def test_needing_a_step_twice_is_needing_it() -> None:
    schedule = board_of(step(1), step(2, 1, 1))
    start(schedule)
    end(schedule, 1)
    assert start(schedule) == [[2]]


def test_a_failed_branch_does_not_stop_the_others() -> None:
    schedule = board_of(step(1), step(2, 1), step(3), step(4, 3), step(5, 2, 4))
    assert start(schedule) == [[1], [3]]
    end(schedule, 1, S.FAILED, acts=1)
    assert start(schedule) == []
    end(schedule, 3, acts=1)
    assert start(schedule) == [[4]]
    end(schedule, 4, acts=1)
    assert start(schedule) == []
    summary = schedule.rest(None)
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention == {
        "reason": "1 of 5 steps failed",
        "stopped_before": [],
        "failed": [{"n": 1, "kind": KIND, "target": "t1", "error": {"message": "no"}}],
        "choices": ["retry", "undo", "abandon"],
    }


def test_a_failure_asks_a_person_even_if_nothing_was_touched() -> None:
    schedule = board_of(step(1))
    start(schedule)
    end(schedule, 1, S.FAILED)
    assert schedule.rest(None).state is Op.NEEDS_ATTENTION
    assert schedule.rest("alice").state is Op.NEEDS_ATTENTION


def test_an_operation_without_steps_is_done() -> None:
    assert board_of().rest(None) == RestingState(Op.DONE)


def test_batches_are_of_one_kind_and_one_device_and_no_larger_than_it_takes() -> None:
    port, device = "set_port/1", "e"
    schedule = board_of(
        step(1, kind=port),
        step(2),
        step(3, kind=port, device=device),
        step(4, kind=port),
        step(5, kind=port),
        step(6),
        step(7, kind=port, device=device),
    )
    assert start(schedule) == [[1, 4], [5], [2], [6], [3, 7]]


def test_a_half_done_batch_goes_on_by_itself() -> None:
    schedule = board_of(step(1, kind="set_port/1"), step(2, kind="set_port/1"), step(3, 1), step(4, 2))
    assert start(schedule) == [[1, 2]]
    schedule.update(replace(schedule.rows[1], state=S.DONE))
    schedule.update(replace(schedule.rows[2], state=S.WAITING, not_before=NOW + SECOND))
    schedule.finish([1, 2])
    assert start(schedule) == [[3]]
    assert start(schedule, now=NOW + SECOND) == [[2]]


def test_a_step_waits_for_its_timer() -> None:
    schedule = board_of(step(1), step(2), states={1: S.WAITING}, not_before=NOW + 5 * SECOND, changed_at=NOW)
    assert start(schedule) == [[2]]
    assert timer(schedule) == NOW + 5 * SECOND
    end(schedule, 2)
    assert schedule.rest(None) == RestingState(due_at=NOW + 5 * SECOND)
    assert start(schedule, now=NOW + 5 * SECOND - 1) == []
    assert start(schedule, now=NOW + 5 * SECOND) == [[1]]
    assert timer(schedule) is None


def test_the_earliest_timer_counts() -> None:
    schedule = board_of(step(1), step(2), step(3))
    start(schedule)
    end(schedule, 1, S.WAITING, not_before=NOW + 7 * SECOND)
    end(schedule, 2, S.HOLDING, not_before=NOW + 3 * SECOND)
    end(schedule, 3, S.FAILED)
    assert timer(schedule) == NOW + 3 * SECOND
    assert schedule.rest(None) == RestingState(due_at=NOW + 3 * SECOND)


@pytest.mark.parametrize(("ahead", "looks"), [(0, False), (SECOND, False), (SECOND + 1, True), (3600 * SECOND, True)])
def test_a_row_from_the_future_is_looked_at_now(ahead: int, looks: bool) -> None:
    """The clock was set back; its timer could be an hour away. A second of difference is a matter of latency."""
    schedule = board_of(step(1), states={1: S.WAITING}, not_before=NOW + ahead + 9 * SECOND, changed_at=NOW + ahead)
    assert (start(schedule) == [[1]]) == looks


def test_cancel_begins_nothing_new_and_names_the_safe_point() -> None:
    schedule = board_of(step(1), step(2, 1), step(3))
    assert start(schedule) == [[1], [3]]
    end(schedule, 1, acts=1)
    end(schedule, 3)
    assert start(schedule, cancelled=True) == []
    summary = schedule.rest("alice")
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention == {
        "reason": f"cancelled; stopped at a safe point, before step 2 ({KIND} t2)",
        "stopped_before": [2],
        "failed": [],
        "choices": ["retry", "undo", "abandon"],
    }


def test_cancel_before_anything_acted_is_the_end() -> None:
    schedule = board_of(step(1), step(2, 1))
    start(schedule)
    end(schedule, 1)
    assert start(schedule, cancelled=True) == []
    assert schedule.rest("alice") == RestingState(Op.CANCELLED)


@pytest.mark.parametrize("state", [S.PENDING, S.WAITING, S.HOLDING])
def test_cancel_ends_steps_that_have_not_acted(state: StepState) -> None:
    schedule = board_of(step(1), states={1: state}, not_before=NOW + SECOND, begun_at=NOW, tries=2, held_at=NOW)
    assert start(schedule, now=NOW + SECOND, cancelled=True) == []
    assert timer(schedule, cancelled=True) is None
    for row in schedule.reset_unacted():
        assert (row.state, row.tries, row.begun_at, row.held_at, row.not_before) == (S.PENDING, 0, None, None, None)
        schedule.update(row)
    assert schedule.rows[1].state is S.PENDING
    assert schedule.rest("alice") == RestingState(Op.CANCELLED)


def test_a_step_that_may_not_be_left_is_not_withdrawn() -> None:
    schedule = board_of(step(1, interruptible=False), states={1: S.WAITING})
    assert schedule.reset_unacted() == []
    assert start(schedule, cancelled=True) == [[1]]


@pytest.mark.parametrize("state", [S.ACTING, S.WAITING, S.HOLDING])
def test_cancel_finishes_what_is_under_way(state: StepState) -> None:
    schedule = board_of(step(1), step(2), states={1: state}, acts=1)
    assert start(schedule, cancelled=True) == [[1]]


def test_cancel_waits_for_the_timers_of_what_is_under_way() -> None:
    schedule = board_of(step(1), step(2), states={1: S.WAITING}, not_before=NOW + SECOND, acts=1)
    assert start(schedule, cancelled=True) == []
    assert timer(schedule, cancelled=True) == NOW + SECOND
    assert schedule.rest("alice") == RestingState(due_at=NOW + SECOND)


def test_cancel_finishes_a_stretch_that_must_not_be_left() -> None:
    schedule = board_of(step(1), step(2, 1, interruptible=False), step(3, 2, interruptible=False), step(4, 3))
    start(schedule)
    end(schedule, 1, acts=1)
    for n in (2, 3):
        assert start(schedule, cancelled=True) == [[n]]
        end(schedule, n, acts=1)
    assert start(schedule, cancelled=True) == []
    attention = schedule.rest("alice").attention
    assert attention is not None
    assert attention["stopped_before"] == [4]


def test_cancel_too_late_is_done() -> None:
    schedule = board_of(step(1))
    start(schedule)
    end(schedule, 1, acts=1)
    assert schedule.rest("alice") == RestingState(Op.DONE)


def test_undo_has_a_schedule_of_its_own() -> None:
    plan = plan_of(step(1, undo=True), step(2, 1, undo=True), step(3, 2))
    rows = fresh(plan.steps)
    rows[1] = replace(rows[1], state=S.DONE, acts=1)
    rows[2] = replace(rows[2], state=S.FAILED, acts=1)
    rows |= fresh(undo_steps(plan, frozenset({1, 2})))
    schedule = make_schedule(plan, list(rows.values()), Op.UNDOING)
    assert start(schedule) == [[-2]]
    end(schedule, -2, acts=1)
    assert start(schedule) == [[-1]]
    end(schedule, -1, S.FAILED, acts=1)
    summary = schedule.rest(None)
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention is not None
    assert summary.attention["choices"] == ["retry", "abandon"]
    assert summary.attention["reason"] == "1 of 2 steps failed"
    schedule.update(replace(schedule.rows[-1], state=S.DONE))
    assert schedule.rest(None) == RestingState(Op.UNDONE)


def test_nothing_to_undo_is_undone() -> None:
    assert make_schedule(plan_of(step(1)), list(fresh([step(1)]).values()), Op.UNDOING).rest(None) == RestingState(
        Op.UNDONE
    )


def test_rows_of_the_other_direction_do_not_count() -> None:
    plan = plan_of(step(1, undo=True))
    rows = [replace(row, state=S.DONE, acts=1) for row in fresh(undo_steps(plan, frozenset({1}))).values()]
    rows.append(replace(fresh(plan.steps)[1], state=S.FAILED, acts=1))
    assert make_schedule(plan, rows, Op.UNDOING).rest(None) == RestingState(Op.UNDONE)


@st.composite
def webs(draw: st.DrawFn) -> Sequence[Step]:
    count = draw(st.integers(0, 12))
    return [
        step(
            n,
            *(draw(st.sets(st.integers(1, n - 1), max_size=3)) if n > 1 else ()),
            kind=draw(st.sampled_from([KIND, "set_port/1"])),
            device=draw(st.sampled_from("de")),
            interruptible=draw(st.booleans()),
        )
        for n in range(1, count + 1)
    ]


@given(webs(), st.data())
def test_every_step_runs_after_its_needs_and_none_is_forgotten(steps: Sequence[Step], data: st.DataObject) -> None:
    """Batches end in any order, in any way; some steps wait, one may fail, a person may cancel."""
    schedule = board_of(*steps)
    now, cancelled = NOW, False
    under_way: list[list[int]] = []
    while True:
        for batch in start(schedule, now=now, cancelled=cancelled):
            assert len({(schedule.steps[n].kind, schedule.steps[n].device) for n in batch}) == 1
            assert len(batch) <= SIZES[schedule.steps[batch[0]].kind]
            for n in batch:
                assert all(schedule.rows[need].state is S.DONE for need in schedule.steps[n].needs)
                assert not (cancelled and schedule.rows[n].acts == 0 and schedule.steps[n].interruptible)
            under_way.append(batch)
        assert len(schedule.running) == sum(map(len, under_way))
        cancelled = cancelled or data.draw(st.integers(0, 9)) == 0
        if under_way:
            batch = under_way.pop(data.draw(st.integers(0, len(under_way) - 1)))
            for n in batch:
                state = data.draw(st.sampled_from([S.DONE, S.DONE, S.DONE, S.WAITING, S.FAILED]))
                later = now + data.draw(st.integers(1, 9)) if state is S.WAITING else None
                acts = schedule.rows[n].acts + data.draw(st.integers(0, 1))
                schedule.update(replace(schedule.rows[n], state=state, not_before=later, changed_at=now, acts=acts))
            schedule.finish(batch)
            continue
        summary = schedule.rest("alice" if cancelled else None)
        if summary.state is not None:
            break
        assert summary.due_at is not None
        assert summary.due_at == timer(schedule, cancelled=cancelled)
        now = max(now, summary.due_at)

    states = {n: row.state for n, row in schedule.rows.items()}
    reachable = {n for n in states if all(states[need] is S.DONE for need in schedule.steps[n].needs)}
    unfinished = {n for n in reachable if states[n] is not S.DONE and states[n] is not S.FAILED}
    assert all(cancelled and schedule.steps[n].interruptible and schedule.rows[n].acts == 0 for n in unfinished)
    assert (summary.state is Op.DONE) == (set(states.values()) <= {S.DONE})
    if summary.attention is not None and S.FAILED not in states.values():
        assert summary.attention["stopped_before"] == sorted(unfinished)


@given(webs())
def test_everything_runs_if_nothing_fails(steps: Sequence[Step]) -> None:
    schedule = board_of(*steps)
    while batches := start(schedule):
        for n in (n for batch in batches for n in batch):
            end(schedule, n)
    assert schedule.rest(None) == RestingState(Op.DONE)
