"""The judgement of one step by what was observed: a table of all cases, and properties of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.json_types import JsonObject, canonical
from canton.domain.operation import StepState
from canton.operations.engine.judge import DecisionTime, Observation, describe, judge, judge_act, reached
from canton.operations.engine.step_kind import DeviceLimits
from canton.operations.plan.plan import Step
from canton.store.database import SECOND
from canton.store.operations.journal import StepRow

S = StepState
NOW = 1_700_000_000 * SECOND
GOAL: JsonObject = {"power": "on"}
OTHER: JsonObject = {"power": "off"}
BUSY = TemporaryFailure("busy", retry_after=3)
REFUSED = PermanentFailure("no such node")
STEP = Step(1, "set_power/1", "x1000c0s0b0n0", "pcs", GOAL, deadline=100.0)
LIMITS = DeviceLimits(settle=20.0, poll=2.0, tries=3, backoff=4.0, backoff_limit=10.0)


def row(state: StepState = S.PENDING, **at: float | None) -> StepRow:
    """A row whose instants are given in seconds from now."""
    instants = ("begun_at", "acted_at", "held_at", "not_before")
    fields: dict[str, int | None] = {
        name: NOW + round(value * SECOND) if name in instants and value is not None else value  # type: ignore[misc]
        for name, value in at.items()
    }
    return replace(StepRow(1, "set_power/1", "x1000c0s0b0n0", state), **fields)  # type: ignore[arg-type]


def decision_time(jitter: float = 1.0) -> DecisionTime:
    return DecisionTime(NOW, lambda: jitter, NOW, NOW)


def seconds(instant: int | None) -> float | None:
    return None if instant is None else (instant - NOW) / SECOND


@dataclass(frozen=True)
class Case:
    """The row in the journal, the present observation, and the row that is written."""

    old_row: StepRow
    sighting: Observation
    state: StepState
    not_before: float | None = None
    says: str = ""
    step: Step = STEP
    answer: StepFailure | None = None


HOLD = replace(STEP, hold_down=30.0)

LOOKS = {
    "never tried": Case(row(), OTHER, S.ACTING),
    "already there": Case(row(), GOAL, S.DONE),
    "more is seen than wanted": Case(row(), {**GOAL, "temperature": 41}, S.DONE),
    "less is seen than wanted": Case(row(), {"temperature": 41}, S.ACTING),
    "nothing is seen": Case(row(), {}, S.ACTING),
    "a look fails for now": Case(row(), BUSY, S.WAITING, not_before=4.0, says="busy"),
    "a second look fails": Case(row(S.WAITING, tries=1, begun_at=-9), BUSY, S.WAITING, not_before=8.0),
    "looks fail too often": Case(row(S.WAITING, tries=2, begun_at=-9), BUSY, S.FAILED, says="in 3 tries; last: busy"),
    "a look fails at the deadline": Case(
        row(S.WAITING, tries=1, begun_at=-100), BUSY, S.FAILED, says="within 100 s; last: busy"
    ),
    "a look is refused": Case(row(), REFUSED, S.FAILED, says="no such node"),
    "a pause ends at the deadline": Case(row(S.WAITING, tries=1, begun_at=-97), BUSY, S.WAITING, not_before=3.0),
    "found acting, within its time to show": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=-5, acted_at=-5), OTHER, S.WAITING, not_before=2.0
    ),
    "found acting, past its time to show": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=-20, acted_at=-20), OTHER, S.ACTING
    ),
    "found acting, and it shows": Case(row(S.ACTING, acts=1, tries=1, begun_at=-5, acted_at=-5), GOAL, S.DONE),
    "waiting, and it shows": Case(row(S.WAITING, acts=1, tries=1, begun_at=-5, acted_at=-5), GOAL, S.DONE),
    "waiting ends at the deadline": Case(
        row(S.WAITING, acts=1, tries=1, begun_at=-99, acted_at=-5), OTHER, S.WAITING, not_before=1.0
    ),
    "the deadline has come": Case(
        row(S.WAITING, acts=1, tries=1, begun_at=-100, acted_at=-5), OTHER, S.FAILED, says="within 100 s"
    ),
    "the deadline has come, and it shows": Case(
        row(S.WAITING, acts=1, tries=1, begun_at=-500, acted_at=-5), GOAL, S.DONE
    ),
    "the last act still has its time": Case(
        row(S.WAITING, acts=3, tries=3, begun_at=-50, acted_at=-19), OTHER, S.WAITING, not_before=2.0
    ),
    "the last act did not show": Case(
        row(S.WAITING, acts=3, tries=3, begun_at=-50, acted_at=-20), OTHER, S.FAILED, says="in 3 tries"
    ),
    "tries spent, and it shows": Case(row(S.WAITING, acts=3, tries=3, begun_at=-50, acted_at=-20), GOAL, S.DONE),
    "refused before, so there is nothing to wait for": Case(
        row(S.WAITING, acts=1, tries=1, begun_at=-1), OTHER, S.ACTING
    ),
    "in sight, to be held": Case(row(), GOAL, S.HOLDING, not_before=2.0, step=HOLD),
    "in sight, nearly long enough": Case(
        row(S.HOLDING, begun_at=-29, held_at=-29), GOAL, S.HOLDING, not_before=1.0, step=HOLD
    ),
    "in sight, long enough": Case(row(S.HOLDING, begun_at=-30, held_at=-30), GOAL, S.DONE, step=HOLD),
    "in sight, past the deadline": Case(
        row(S.HOLDING, begun_at=-110, held_at=-10), GOAL, S.HOLDING, not_before=2.0, step=HOLD
    ),
    "lost while held": Case(row(S.HOLDING, begun_at=-30, held_at=-30), OTHER, S.ACTING, step=HOLD),
    "out of sight while held": Case(
        row(S.HOLDING, begun_at=-30, held_at=-30), BUSY, S.WAITING, not_before=4.0, step=HOLD
    ),
    "what an undo step takes back may still show": Case(row(begun_at=-1, acted_at=-5), GOAL, S.WAITING, not_before=2.0),
    "what an undo step takes back has had its time": Case(row(begun_at=-1, acted_at=-20), GOAL, S.DONE),
}

READ_BACKS = {
    "it shows": Case(row(S.ACTING, acts=1, tries=1, begun_at=0, acted_at=0), GOAL, S.DONE),
    "it shows, to be held": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0, acted_at=0), GOAL, S.HOLDING, not_before=2.0, step=HOLD
    ),
    "it does not show yet": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0, acted_at=0), OTHER, S.WAITING, not_before=2.0
    ),
    "refused for now": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0), OTHER, S.WAITING, not_before=4.0, says="busy", answer=BUSY
    ),
    "refused for now, too often": Case(
        row(S.ACTING, acts=3, tries=3, begun_at=-9), OTHER, S.FAILED, says="in 3 tries; last: busy", answer=BUSY
    ),
    "refused for good": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0), OTHER, S.FAILED, says="no such node", answer=REFUSED
    ),
    "refused for good, and yet it shows": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0), GOAL, S.DONE, answer=REFUSED
    ),
    "no answer, and it shows": Case(
        row(S.ACTING, acts=3, tries=3, begun_at=-999, acted_at=0), GOAL, S.DONE, answer=BUSY
    ),
    "it cannot be read back for now": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0, acted_at=0), BUSY, S.WAITING, not_before=4.0, says="busy"
    ),
    "it cannot be read back at all": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0, acted_at=0), REFUSED, S.FAILED, says="no such node"
    ),
    "what was seen outranks the answer": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=0), BUSY, S.WAITING, not_before=4.0, says="busy", answer=REFUSED
    ),
    "the deadline came during the call": Case(
        row(S.ACTING, acts=1, tries=1, begun_at=-100, acted_at=-30), OTHER, S.FAILED, says="within 100 s"
    ),
}


def compare(case: Case, new_row: StepRow) -> None:
    assert (new_row.state, seconds(new_row.not_before)) == (case.state, case.not_before)
    assert case.says in str((new_row.error or {}).get("message", ""))
    assert (new_row.error is None) == (case.says == "" and case.state is not S.FAILED and case.sighting is not BUSY)
    if not isinstance(case.sighting, StepFailure):
        assert new_row.evidence == case.sighting


@pytest.mark.parametrize("case", LOOKS.values(), ids=LOOKS.keys())
def test_a_look_decides(case: Case) -> None:
    compare(case, judge(case.step, case.old_row, LIMITS, case.sighting, decision_time()))


@pytest.mark.parametrize("case", READ_BACKS.values(), ids=READ_BACKS.keys())
def test_a_read_back_decides(case: Case) -> None:
    compare(case, judge_act(case.step, case.old_row, LIMITS, case.sighting, case.answer, decision_time()))


def test_an_act_is_counted_before_it_is_done() -> None:
    first = judge(STEP, row(), LIMITS, OTHER, decision_time())
    assert (first.acts, first.tries, seconds(first.begun_at), seconds(first.acted_at)) == (1, 1, 0, 0)
    verdict = judge(STEP, row(S.WAITING, acts=4, tries=1, begun_at=-40, acted_at=-30), LIMITS, OTHER, decision_time())
    assert (verdict.acts, verdict.tries, seconds(verdict.begun_at), seconds(verdict.acted_at)) == (5, 2, -40, 0)


def test_the_time_to_show_counts_from_the_end_of_a_long_call() -> None:
    acting_row = row(S.ACTING, acts=1, tries=1, begun_at=-25, acted_at=-25)
    assert seconds(judge_act(STEP, acting_row, LIMITS, OTHER, None, decision_time()).acted_at) == 0
    assert (
        judge_act(STEP, row(S.ACTING, acts=1, tries=1, begun_at=0), LIMITS, OTHER, BUSY, decision_time()).acted_at
        is None
    )


def test_a_slow_look_shows_what_was_there_when_it_began() -> None:
    """The observation was made before the time to show and arrived after it: acting on it would act twice."""
    acted = row(S.WAITING, acts=1, tries=1, begun_at=-25, acted_at=-21)
    slow = DecisionTime(NOW, lambda: 1.0, NOW - 2 * SECOND, NOW)
    assert judge(STEP, acted, LIMITS, OTHER, decision_time()).state is S.ACTING
    waiting = judge(STEP, acted, LIMITS, OTHER, slow)
    assert (waiting.state, waiting.acts, seconds(waiting.not_before)) == (S.WAITING, 1, 2)
    assert judge(STEP, acted, LIMITS, GOAL, slow).state is S.DONE
    holding_row = row(S.HOLDING, begun_at=-40, held_at=-31)
    assert judge(HOLD, holding_row, LIMITS, GOAL, decision_time()).state is S.DONE
    verdict = judge(HOLD, holding_row, LIMITS, GOAL, slow)
    assert (verdict.state, seconds(verdict.held_at), seconds(verdict.not_before)) == (S.HOLDING, -31, 0)


def test_a_hold_down_begins_at_the_latest_possible_time() -> None:
    unsure = DecisionTime(NOW, lambda: 1.0, NOW, NOW + 3 * SECOND)
    acting = judge(STEP, row(), LIMITS, OTHER, unsure)
    assert (acting.state, seconds(acting.acted_at)) == (S.ACTING, 3)
    assert seconds(judge_act(STEP, acting, LIMITS, OTHER, None, unsure).acted_at) == 3
    assert seconds(judge(HOLD, row(), LIMITS, GOAL, unsure).held_at) == 3
    verdict = judge(STEP, row(S.WAITING, acts=1, tries=1, begun_at=-9, acted_at=2), LIMITS, OTHER, unsure)
    assert seconds(verdict.acted_at) == 2


def test_a_failure_is_kept_whole() -> None:
    new_row = judge(STEP, row(), LIMITS, BUSY, decision_time())
    assert new_row.error == {"code": "temporary-failure", "message": "busy", "details": {"retry_after": 3}}


def test_a_goal_compares_only_the_facts_it_names() -> None:
    assert reached({"a": None}, {"a": None, "b": 1})
    assert not reached({"a": None}, {"b": 1})
    assert not reached({"a": 1, "b": 2}, {"a": 1})
    assert reached({"vlans": [1, 2]}, {"vlans": [1, 2]})


@pytest.mark.parametrize("back", [0.5, 3600.0, 10**9])
def test_a_clock_that_was_set_back_stops_nothing(back: float) -> None:
    """Instants in the future count from now, so that every wait ends within its own length."""
    acted = judge(STEP, row(S.ACTING, acts=1, tries=1, begun_at=back, acted_at=back), LIMITS, OTHER, decision_time())
    assert (acted.state, seconds(acted.begun_at), seconds(acted.acted_at)) == (S.WAITING, 0, 0)
    new_row = judge(HOLD, row(S.HOLDING, begun_at=back, held_at=back), LIMITS, GOAL, decision_time())
    assert (new_row.state, seconds(new_row.held_at)) == (S.HOLDING, 0)


tries = st.integers(0, 5000)
ages = st.integers(-(10**9), 10**9)
lengths = st.floats(0.001, 2000.0)
failures = st.sampled_from([BUSY, REFUSED, StepFailure("odd")])
sightings: st.SearchStrategy[Observation] = st.sampled_from([GOAL, OTHER, {}, {**GOAL, "more": 1}]) | failures
steps = st.builds(
    lambda deadline, hold: replace(STEP, deadline=deadline, hold_down=hold), lengths, st.just(0.0) | lengths
)
device_limits = st.builds(
    DeviceLimits,
    settle=st.just(0.0) | lengths,
    poll=lengths,
    tries=st.integers(1, 10) | st.just(4000),
    backoff=lengths,
    backoff_limit=lengths,
)
rows = st.builds(
    lambda state, tries, acts, begun_at, acted, held_at: StepRow(
        1,
        "set_power/1",
        "x1000c0s0b0n0",
        state,
        acts=acts,
        tries=tries,
        begun_at=None if begun_at is None else NOW + begun_at,
        acted_at=None if acted is None or acts == 0 else NOW + acted,
        held_at=None if held_at is None else NOW + held_at,
    ),
    st.sampled_from([S.PENDING, S.ACTING, S.WAITING, S.HOLDING]),
    tries,
    st.integers(0, 3),
    st.none() | ages,
    st.none() | ages,
    st.none() | ages,
)
decision_times = st.builds(lambda jitter: DecisionTime(NOW, lambda: jitter, NOW, NOW), st.floats(0, 1))


def sees_goal(sighting: Observation) -> bool:
    return not isinstance(sighting, StepFailure) and reached(GOAL, sighting)


def deadline(step: Step, journal_row: StepRow) -> int:
    """The step's deadline after the first look; a first look in the future counts as now."""
    return min(journal_row.begun_at or NOW, NOW) + round(step.deadline * SECOND)


@given(steps, rows, device_limits, sightings, decision_times)
def test_a_look_never_decides_too_much(
    step: Step, old_row: StepRow, limits: DeviceLimits, sighting: Observation, decision_time: DecisionTime
) -> None:
    new_row = judge(step, old_row, limits, sighting, decision_time)
    if new_row.state in (S.DONE, S.HOLDING):
        assert sees_goal(sighting)
    if new_row.state is S.DONE:
        assert step.hold_down == 0 or (
            old_row.held_at is not None and old_row.held_at + step.hold_down * SECOND <= NOW + 1
        )
    if new_row.state is S.ACTING:
        assert not isinstance(sighting, StepFailure)
        assert not sees_goal(sighting)
        assert deadline(step, old_row) > NOW
        assert old_row.tries < limits.tries
        assert old_row.acted_at is None or min(old_row.acted_at, NOW) + limits.settle * SECOND <= NOW + 1
        assert (new_row.acts, new_row.tries) == (old_row.acts + 1, old_row.tries + 1)
    else:
        assert new_row.acts == old_row.acts
    if sees_goal(sighting):
        assert new_row.state in (S.DONE, S.HOLDING)


@given(steps, rows, device_limits, sightings, st.none() | failures, decision_times)
def test_a_read_back_never_acts_and_believes_only_what_it_sees(
    step: Step,
    old_row: StepRow,
    limits: DeviceLimits,
    sighting: Observation,
    answer: StepFailure | None,
    decision_time: DecisionTime,
) -> None:
    old_row = replace(
        old_row, state=S.ACTING, begun_at=min(old_row.begun_at or NOW, NOW), tries=max(old_row.tries, 1), held_at=None
    )
    new_row = judge_act(step, old_row, limits, sighting, answer, decision_time)
    assert new_row.state is not S.ACTING
    assert (new_row.acts, new_row.tries) == (old_row.acts, old_row.tries)
    assert (new_row.state in (S.DONE, S.HOLDING)) == sees_goal(sighting)
    if not isinstance(sighting, StepFailure) and not sees_goal(sighting) and answer is not None and answer is not BUSY:
        assert new_row.state is S.FAILED
        assert new_row.error == describe(answer)


@given(steps, rows, device_limits, sightings, decision_times)
def test_whatever_is_not_over_is_looked_at_again(
    step: Step, old_row: StepRow, limits: DeviceLimits, sighting: Observation, decision_time: DecisionTime
) -> None:
    new_row = judge(step, old_row, limits, sighting, decision_time)
    if new_row.state in (S.WAITING, S.HOLDING):
        assert new_row.not_before is not None
        assert new_row.not_before >= NOW
    else:
        assert new_row.not_before is None
    if new_row.state is S.WAITING:
        assert (new_row.not_before or 0) <= deadline(step, old_row)
    if new_row.state is S.HOLDING:
        assert (new_row.not_before or 0) <= NOW + round(limits.poll * SECOND)


@given(steps, rows, device_limits, decision_times)
@example(STEP, row(tries=3000), DeviceLimits(tries=4000), DecisionTime(NOW, lambda: 0.0, NOW, NOW))
def test_temporary_failures_back_off(
    step: Step, old_row: StepRow, limits: DeviceLimits, decision_time: DecisionTime
) -> None:
    new_row = judge(step, old_row, limits, BUSY, decision_time)
    over = deadline(step, old_row) <= NOW or old_row.tries + 1 >= limits.tries
    assert new_row.state is (S.FAILED if over else S.WAITING)
    assume(not over)
    longest = min(limits.backoff_limit, limits.backoff * 2.0 ** min(old_row.tries, 1000))
    pause = ((new_row.not_before or 0) - NOW) / SECOND
    seconds_left = (deadline(step, old_row) - NOW) / SECOND
    assert pause <= longest + 1e-5
    assert pause >= min(longest / 2, seconds_left) - 1e-5
    assert pause <= seconds_left


def test_jitter_spreads_the_pause_over_its_second_half() -> None:
    pauses = {
        jitter: seconds(judge(STEP, row(), LIMITS, BUSY, decision_time(jitter)).not_before)
        for jitter in (0.0, 0.5, 1.0)
    }
    assert pauses == {0.0: 2.0, 0.5: 3.0, 1.0: 4.0}


@given(device_limits, st.lists(st.tuples(st.integers(1, 40), st.sampled_from([GOAL, GOAL, OTHER, BUSY])), min_size=1))
def test_a_hold_down_is_an_unbroken_sight(limits: DeviceLimits, looks: list[tuple[int, Observation]]) -> None:
    """A step is done only if every look of the last 30 s saw the goal."""
    step = replace(HOLD, deadline=10_000.0)
    limits = replace(limits, tries=4000, settle=0.0)
    current, now = row(), NOW
    seen_since: int | None = None
    for pause, sighting in looks:
        now += pause * SECOND
        current = judge(step, current, limits, sighting, DecisionTime(now, lambda: 0.5, now, now))
        seen_since = (seen_since or now) if sighting is GOAL else None
        held_down = seen_since is not None and now - seen_since >= 30 * SECOND
        assert (current.state is S.DONE) == held_down
        if held_down:
            return


LONG = "x" * 5_000_000


@pytest.mark.parametrize("failure", [TemporaryFailure, PermanentFailure])
def test_the_text_of_a_driver_is_stored_with_a_bound(failure: type[StepFailure]) -> None:
    long_failure = failure(LONG, cause=LONG, url=LONG, tasks=[LONG], known={"a": LONG}, status=503)
    for new_row in (
        judge(STEP, row(), LIMITS, long_failure, decision_time()),
        judge(STEP, row(tries=2, begun_at=-9), LIMITS, long_failure, decision_time()),
        judge(STEP, row(begun_at=-200), LIMITS, long_failure, decision_time()),
        judge_act(STEP, row(S.ACTING, begun_at=-9, acted_at=-1), LIMITS, OTHER, long_failure, decision_time()),
    ):
        assert new_row.error is not None
        assert len(new_row.cause or "") == len(str(new_row.error["message"])) == 2_000
        assert len(canonical(new_row.error)) < 15_000
        assert new_row.error["details"] in ({}, {**describe(long_failure)["details"]})  # type: ignore[dict-item]
    assert describe(failure("m", status=503))["details"] == {"status": 503}


def test_evidence_is_stored_with_a_bound_and_judged_whole() -> None:
    step = replace(STEP, goal={"log": LONG})
    for new_row in (
        judge(step, row(), LIMITS, {"log": LONG, "n": 1}, decision_time()),
        judge_act(step, row(S.ACTING, begun_at=-9, acted_at=-1), LIMITS, {"log": LONG, "n": 1}, None, decision_time()),
    ):
        assert new_row.state is S.DONE
        assert new_row.evidence is not None
        assert new_row.evidence["n"] == 1
        assert len(str(new_row.evidence["log"])) == 2_000
    many = {f"node{n}": "on" for n in range(10_000)}
    evidence = judge(STEP, row(), LIMITS, {**many, "power": "on"}, decision_time()).evidence
    assert evidence is not None
    assert 5_000 < len(canonical(evidence)) < 10_002
    assert evidence["power"] == "on"
