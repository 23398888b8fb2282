"""The board: which steps run now, in which batches, and the state in which an operation rests."""

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


def timer(board: StepSchedule, *, cancelled: bool = False) -> int | None:
    return board.next_timer(cancelled=cancelled)


def start(board: StepSchedule, *, now: int = NOW, cancelled: bool = False) -> list[list[int]]:
    return [[step.n for step in batch] for batch in board.start(now, SIZES, cancelled=cancelled)]


def end(board: StepSchedule, n: int, state: StepState = S.DONE, **fields: int) -> None:
    """What a drive does when a step that was started is over."""
    error: JsonObject | None = {"message": "no"} if state is S.FAILED else None
    board.update(replace(board.rows[n], state=state, error=error, **fields))  # type: ignore[arg-type]
    board.finish([n])


def test_a_step_waits_for_everything_it_needs() -> None:
    board = board_of(step(1), step(2), step(3, 1, 2))
    assert start(board) == [[1], [2]]
    end(board, 1)
    assert start(board) == []
    end(board, 2)
    assert start(board) == [[3]]
    end(board, 3)
    assert board.rest(None) == RestingState(Op.DONE)


def test_what_runs_is_not_started_again() -> None:
    board = board_of(step(1))
    assert start(board) == [[1]]
    assert board.running == {1}
    assert start(board) == []
    board.finish([1])
    assert board.running == set()
    assert start(board) == [[1]]


def test_a_board_from_rows_goes_on_where_they_are() -> None:
    """As after a crash: done steps stay done, steps under way are observed again."""
    rows = fresh([step(1), step(2, 1), step(3, 1), step(4, 2)])
    rows[1] = replace(rows[1], state=S.DONE)
    rows[2] = replace(rows[2], state=S.ACTING, acts=1, acted_at=NOW)
    board = make_schedule(plan_of(step(1), step(2, 1), step(3, 1), step(4, 2)), list(rows.values()), Op.RUNNING)
    assert start(board) == [[2], [3]]


def test_needing_a_step_twice_is_needing_it() -> None:
    board = board_of(step(1), step(2, 1, 1))
    start(board)
    end(board, 1)
    assert start(board) == [[2]]


def test_a_failed_branch_does_not_stop_the_others() -> None:
    board = board_of(step(1), step(2, 1), step(3), step(4, 3), step(5, 2, 4))
    assert start(board) == [[1], [3]]
    end(board, 1, S.FAILED, acts=1)
    assert start(board) == []
    end(board, 3, acts=1)
    assert start(board) == [[4]]
    end(board, 4, acts=1)
    assert start(board) == []
    summary = board.rest(None)
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention == {
        "reason": "1 of 5 steps failed",
        "stopped_before": [],
        "failed": [{"n": 1, "kind": KIND, "target": "t1", "error": {"message": "no"}}],
        "choices": ["retry", "undo", "abandon"],
    }


def test_a_failure_asks_a_person_even_if_nothing_was_touched() -> None:
    board = board_of(step(1))
    start(board)
    end(board, 1, S.FAILED)
    assert board.rest(None).state is Op.NEEDS_ATTENTION
    assert board.rest("alice").state is Op.NEEDS_ATTENTION


def test_an_operation_without_steps_is_done() -> None:
    assert board_of().rest(None) == RestingState(Op.DONE)


def test_batches_are_of_one_kind_and_one_device_and_no_larger_than_it_takes() -> None:
    port, device = "set_port/1", "e"
    board = board_of(
        step(1, kind=port),
        step(2),
        step(3, kind=port, device=device),
        step(4, kind=port),
        step(5, kind=port),
        step(6),
        step(7, kind=port, device=device),
    )
    assert start(board) == [[1, 4], [5], [2], [6], [3, 7]]


def test_a_half_done_batch_goes_on_by_itself() -> None:
    board = board_of(step(1, kind="set_port/1"), step(2, kind="set_port/1"), step(3, 1), step(4, 2))
    assert start(board) == [[1, 2]]
    board.update(replace(board.rows[1], state=S.DONE))
    board.update(replace(board.rows[2], state=S.WAITING, not_before=NOW + SECOND))
    board.finish([1, 2])
    assert start(board) == [[3]]
    assert start(board, now=NOW + SECOND) == [[2]]


def test_a_step_waits_for_its_timer() -> None:
    board = board_of(step(1), step(2), states={1: S.WAITING}, not_before=NOW + 5 * SECOND, changed_at=NOW)
    assert start(board) == [[2]]
    assert timer(board) == NOW + 5 * SECOND
    end(board, 2)
    assert board.rest(None) == RestingState(due_at=NOW + 5 * SECOND)
    assert start(board, now=NOW + 5 * SECOND - 1) == []
    assert start(board, now=NOW + 5 * SECOND) == [[1]]
    assert timer(board) is None


def test_the_earliest_timer_counts() -> None:
    board = board_of(step(1), step(2), step(3))
    start(board)
    end(board, 1, S.WAITING, not_before=NOW + 7 * SECOND)
    end(board, 2, S.HOLDING, not_before=NOW + 3 * SECOND)
    end(board, 3, S.FAILED)
    assert timer(board) == NOW + 3 * SECOND
    assert board.rest(None) == RestingState(due_at=NOW + 3 * SECOND)


@pytest.mark.parametrize(("ahead", "looks"), [(0, False), (SECOND, False), (SECOND + 1, True), (3600 * SECOND, True)])
def test_a_row_from_the_future_is_looked_at_now(ahead: int, looks: bool) -> None:
    """The clock was set back; its timer could be an hour away. A second of difference is a matter of latency."""
    board = board_of(step(1), states={1: S.WAITING}, not_before=NOW + ahead + 9 * SECOND, changed_at=NOW + ahead)
    assert (start(board) == [[1]]) == looks


def test_cancel_begins_nothing_new_and_names_the_safe_point() -> None:
    board = board_of(step(1), step(2, 1), step(3))
    assert start(board) == [[1], [3]]
    end(board, 1, acts=1)
    end(board, 3)
    assert start(board, cancelled=True) == []
    summary = board.rest("alice")
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention == {
        "reason": f"cancelled; stopped at a safe point, before step 2 ({KIND} t2)",
        "stopped_before": [2],
        "failed": [],
        "choices": ["retry", "undo", "abandon"],
    }


def test_cancel_before_anything_acted_is_the_end() -> None:
    board = board_of(step(1), step(2, 1))
    start(board)
    end(board, 1)
    assert start(board, cancelled=True) == []
    assert board.rest("alice") == RestingState(Op.CANCELLED)


@pytest.mark.parametrize("state", [S.PENDING, S.WAITING, S.HOLDING])
def test_cancel_ends_steps_that_have_not_acted(state: StepState) -> None:
    board = board_of(step(1), states={1: state}, not_before=NOW + SECOND, begun_at=NOW, tries=2, held_at=NOW)
    assert start(board, now=NOW + SECOND, cancelled=True) == []
    assert timer(board, cancelled=True) is None
    for row in board.withdrawn():
        assert (row.state, row.tries, row.begun_at, row.held_at, row.not_before) == (S.PENDING, 0, None, None, None)
        board.update(row)
    assert board.rows[1].state is S.PENDING
    assert board.rest("alice") == RestingState(Op.CANCELLED)


def test_a_step_that_may_not_be_left_is_not_withdrawn() -> None:
    board = board_of(step(1, interruptible=False), states={1: S.WAITING})
    assert board.withdrawn() == []
    assert start(board, cancelled=True) == [[1]]


@pytest.mark.parametrize("state", [S.ACTING, S.WAITING, S.HOLDING])
def test_cancel_finishes_what_is_under_way(state: StepState) -> None:
    board = board_of(step(1), step(2), states={1: state}, acts=1)
    assert start(board, cancelled=True) == [[1]]


def test_cancel_waits_for_the_timers_of_what_is_under_way() -> None:
    board = board_of(step(1), step(2), states={1: S.WAITING}, not_before=NOW + SECOND, acts=1)
    assert start(board, cancelled=True) == []
    assert timer(board, cancelled=True) == NOW + SECOND
    assert board.rest("alice") == RestingState(due_at=NOW + SECOND)


def test_cancel_finishes_a_stretch_that_must_not_be_left() -> None:
    board = board_of(step(1), step(2, 1, interruptible=False), step(3, 2, interruptible=False), step(4, 3))
    start(board)
    end(board, 1, acts=1)
    for n in (2, 3):
        assert start(board, cancelled=True) == [[n]]
        end(board, n, acts=1)
    assert start(board, cancelled=True) == []
    attention = board.rest("alice").attention
    assert attention is not None
    assert attention["stopped_before"] == [4]


def test_cancel_too_late_is_done() -> None:
    board = board_of(step(1))
    start(board)
    end(board, 1, acts=1)
    assert board.rest("alice") == RestingState(Op.DONE)


def test_undo_has_a_board_of_its_own() -> None:
    plan = plan_of(step(1, undo=True), step(2, 1, undo=True), step(3, 2))
    rows = fresh(plan.steps)
    rows[1] = replace(rows[1], state=S.DONE, acts=1)
    rows[2] = replace(rows[2], state=S.FAILED, acts=1)
    rows |= fresh(undo_steps(plan, frozenset({1, 2})))
    board = make_schedule(plan, list(rows.values()), Op.UNDOING)
    assert start(board) == [[-2]]
    end(board, -2, acts=1)
    assert start(board) == [[-1]]
    end(board, -1, S.FAILED, acts=1)
    summary = board.rest(None)
    assert summary.state is Op.NEEDS_ATTENTION
    assert summary.attention is not None
    assert summary.attention["choices"] == ["retry", "abandon"]
    assert summary.attention["reason"] == "1 of 2 steps failed"
    board.update(replace(board.rows[-1], state=S.DONE))
    assert board.rest(None) == RestingState(Op.UNDONE)


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
    board = board_of(*steps)
    now, cancelled = NOW, False
    under_way: list[list[int]] = []
    while True:
        for batch in start(board, now=now, cancelled=cancelled):
            assert len({(board.steps[n].kind, board.steps[n].device) for n in batch}) == 1
            assert len(batch) <= SIZES[board.steps[batch[0]].kind]
            for n in batch:
                assert all(board.rows[need].state is S.DONE for need in board.steps[n].needs)
                assert not (cancelled and board.rows[n].acts == 0 and board.steps[n].interruptible)
            under_way.append(batch)
        assert len(board.running) == sum(map(len, under_way))
        cancelled = cancelled or data.draw(st.integers(0, 9)) == 0
        if under_way:
            batch = under_way.pop(data.draw(st.integers(0, len(under_way) - 1)))
            for n in batch:
                state = data.draw(st.sampled_from([S.DONE, S.DONE, S.DONE, S.WAITING, S.FAILED]))
                later = now + data.draw(st.integers(1, 9)) if state is S.WAITING else None
                acts = board.rows[n].acts + data.draw(st.integers(0, 1))
                board.update(replace(board.rows[n], state=state, not_before=later, changed_at=now, acts=acts))
            board.finish(batch)
            continue
        summary = board.rest("alice" if cancelled else None)
        if summary.state is not None:
            break
        assert summary.due_at is not None
        assert summary.due_at == timer(board, cancelled=cancelled)
        now = max(now, summary.due_at)

    states = {n: row.state for n, row in board.rows.items()}
    reachable = {n for n in states if all(states[need] is S.DONE for need in board.steps[n].needs)}
    unfinished = {n for n in reachable if states[n] is not S.DONE and states[n] is not S.FAILED}
    assert all(cancelled and board.steps[n].interruptible and board.rows[n].acts == 0 for n in unfinished)
    assert (summary.state is Op.DONE) == (set(states.values()) <= {S.DONE})
    if summary.attention is not None and S.FAILED not in states.values():
        assert summary.attention["stopped_before"] == sorted(unfinished)


@given(webs())
def test_everything_runs_if_nothing_fails(steps: Sequence[Step]) -> None:
    board = board_of(*steps)
    while batches := start(board):
        for n in (n for batch in batches for n in batch):
            end(board, n)
    assert board.rest(None) == RestingState(Op.DONE)
