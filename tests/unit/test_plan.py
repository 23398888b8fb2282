"""A plan as data: which plans are refused, what the digest covers, and the order of the undo steps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import InvalidPlan, PlanMoved
from canton.domain.json_types import Json, canonical
from canton.domain.lifecycle import NodeEvent
from canton.operations.plan.plan import (
    LifecycleChange,
    Plan,
    Step,
    Undo,
    check,
    from_json,
    refuse_if_moved,
    to_json,
    undo_steps,
)

GOOD = Plan(
    kind="node.power",
    summary="power on x1000c0s0b0n[0-1]",
    steps=(
        Step(1, "set_power/1", "x1000c0s0b0n0", "pcs", {"power": "on"}, undo=Undo("set_power/1", {"power": "off"})),
        Step(2, "set_power/1", "x1000c0s0b0n1", "pcs", {"power": "on"}, needs=(1,)),
    ),
    nodes=("x1000c0s0b0n0", "x1000c0s0b0n1"),
    inputs={"node:x1000c0s0b0n0": 3, "node:x1000c0s0b0n1": 7},
)

# Every field, none at its default: a field that is renamed, lost or reordered changes the text below.
PINNED = Plan(
    kind="node.assign",
    summary="assign x1000c0s0b0n0 to psi",
    steps=(
        Step(1, "cordon/1", "x1000c0s0b0n0", "slurm", {"schedulable": False}),
        Step(
            n=2,
            kind="set_power/2",
            target="x1000c0s0b0n0",
            device="pcs",
            goal={"power": "off", "since": None},
            args={"soft": True},
            needs=(1,),
            deadline=90.5,
            hold_down=2.0,
            interruptible=False,
            undo=Undo(kind="set_power/1", goal={"power": "on"}, args={"soft": False}),
        ),
    ),
    nodes=("x1000c0s0b0n0",),
    inputs={"tenant:psi": 4, "node:x1000c0s0b0n0": 9},
    tenant="psi",
    moves=(LifecycleChange("x1000c0s0b0n0", NodeEvent.ASSIGN, NodeEvent.JOINED, NodeEvent.UNDO, "psi"),),
)
PINNED_TEXT = (
    '{"format":1,"inputs":{"node:x1000c0s0b0n0":9,"tenant:psi":4},"kind":"node.assign",'
    '"moves":[{"done":"joined","node":"x1000c0s0b0n0","start":"assign","tenant":"psi","undone":"undo"}],'
    '"nodes":["x1000c0s0b0n0"],"steps":[{"args":{},"deadline":600.0,"device":"slurm","goal":{"schedulable":false},'
    '"hold_down":0.0,"interruptible":true,"kind":"cordon/1","n":1,"needs":[],"target":"x1000c0s0b0n0","undo":null},'
    '{"args":{"soft":true},"deadline":90.5,"device":"pcs","goal":{"power":"off","since":null},"hold_down":2.0,'
    '"interruptible":false,"kind":"set_power/2","n":2,"needs":[1],"target":"x1000c0s0b0n0",'
    '"undo":{"args":{"soft":false},"goal":{"power":"on"},"kind":"set_power/1"}}],'
    '"summary":"assign x1000c0s0b0n0 to psi","tenant":"psi"}'
)
PINNED_DIGEST = "sha256:443ebe8e4a590afc0ae97fb826210d93027e6af417567636897cf04c34157d81"


def changed(number: int, **values: object) -> Plan:
    """``GOOD`` with one step changed."""
    steps = tuple(replace(step, **values) if step.n == number else step for step in GOOD.steps)  # type: ignore[arg-type]
    return replace(GOOD, steps=steps)


def test_a_good_plan_comes_back_as_it_is() -> None:
    assert check(GOOD) is GOOD
    assert check(PINNED) is PINNED
    assert check(Plan("nothing", "nothing to do", ())).steps == ()


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (changed(2, n=3), r"numbered 1 to 2, found \[1, 3\]"),
        (changed(2, n=1), r"numbered 1 to 2, found \[1, 1\]"),
        (changed(1, n=-1), r"found \[-1, 2\]"),
        (changed(1, n=0), r"found \[0, 2\]"),
        (replace(GOOD, steps=GOOD.steps[::-1]), r"found \[2, 1\]"),
        (changed(2, needs=(9,)), r"step 2 \(set_power/1 x1000c0s0b0n1\): needs steps \[9\]"),
        (changed(2, needs=(0, 1)), r"needs steps \[0\]"),
        (changed(1, needs=(2,)), "in a circle"),
        (changed(1, needs=(1,)), "in a circle"),
        (changed(1, kind="set_power"), 'kind "set_power" is not a name and a version, such as set_power/1'),
        (changed(1, kind="set_power/"), "not a name and a version"),
        (changed(1, kind="set_power/one"), "not a name and a version"),
        (changed(1, kind="set_power/-1"), "not a name and a version"),
        (changed(1, kind="/1"), "not a name and a version"),
        (changed(1, kind=""), "not a name and a version"),
        (changed(2, undo=Undo("set_power", {"power": "off"})), "not a name and a version"),
        (changed(1, goal={}), "has no goal"),
        (changed(1, undo=Undo("set_power/1", {})), "has no goal"),
        (changed(1, deadline=0.0), "deadline must be positive"),
        (changed(1, deadline=-1.0), "deadline must be positive"),
        (changed(1, deadline=float("nan")), "deadline must be positive"),
        (changed(1, hold_down=-0.1), "hold_down not negative"),
        (
            replace(GOOD, moves=(LifecycleChange("x1c0s0b0n0", done=NodeEvent.MAINTENANCE),)),
            r"does not claim: \['x1c0s0b0n0'\]",
        ),
        (replace(PINNED, moves=(LifecycleChange("x1000c0s0b0n0", start=NodeEvent.ASSIGN),)), "must say how it ends"),
        (replace(PINNED, moves=PINNED.moves * 2), "moves a node twice"),
        (
            replace(PINNED, moves=(LifecycleChange("x1000c0s0b0n0", start=NodeEvent.ASSIGN, done=NodeEvent.JOINED),)),
            "must say how it ends",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(plan: Plan, says: str) -> None:
    with pytest.raises(InvalidPlan, match=says):
        check(plan)


@pytest.mark.parametrize("kind", ["set power/1", "set_power\t/1", " set_power/1", "set_power/1 ", "set_power/1\n"])
def test_a_kind_that_would_not_survive_the_list_of_kinds_is_refused(kind: str) -> None:
    """``step_kinds`` is one text with spaces in it: a kind that holds one would be known to no worker."""
    with pytest.raises(InvalidPlan):
        check(changed(1, kind=kind))


@pytest.mark.parametrize(
    "values", [{"deadline": float("inf")}, {"hold_down": float("inf")}, {"hold_down": float("nan")}]
)
def test_a_time_without_end_is_refused(values: dict[str, object]) -> None:
    """An infinite time can be neither stored nor waited for."""
    with pytest.raises(InvalidPlan):
        check(changed(1, **values))


def test_the_stored_form_is_pinned() -> None:
    """If this fails, stored plans and reviewed digests of the last version become unreadable: a new ``FORMAT``."""
    assert canonical(to_json(PINNED)) == PINNED_TEXT
    assert PINNED.digest == PINNED_DIGEST
    assert from_json(PINNED_TEXT) == PINNED


@pytest.mark.parametrize(
    "other_plan",
    [
        replace(GOOD, kind="node.boot"),
        replace(GOOD, summary="another"),
        replace(GOOD, nodes=GOOD.nodes[:1]),
        replace(GOOD, inputs={**GOOD.inputs, "node:x1000c0s0b0n0": 4}),
        replace(GOOD, inputs={}),
        replace(GOOD, tenant="psi"),
        replace(GOOD, moves=(LifecycleChange(GOOD.nodes[0], done=NodeEvent.MAINTENANCE),)),
        replace(GOOD, steps=GOOD.steps[:1]),
        changed(1, kind="set_power/2"),
        changed(1, target="x1000c0s0b0n9"),
        changed(1, device="other"),
        changed(1, goal={"power": "off"}),
        changed(1, args={"soft": True}),
        changed(2, needs=()),
        changed(1, deadline=601.0),
        changed(1, hold_down=1.0),
        changed(1, interruptible=False),
        changed(1, undo=None),
        changed(1, undo=Undo("set_power/1", {"power": "on"})),
        changed(1, undo=Undo("set_power/1", {"power": "off"}, {"soft": True})),
    ],
)
def test_the_digest_covers_everything(other_plan: Plan) -> None:
    assert other_plan.digest != GOOD.digest


def test_the_digest_does_not_depend_on_the_order_of_names() -> None:
    turned = replace(GOOD, inputs=dict(sorted(GOOD.inputs.items(), reverse=True)))
    assert turned.digest == GOOD.digest


def test_step_kinds_name_the_undo_too() -> None:
    assert PINNED.step_kinds == "cordon/1 set_power/1 set_power/2"
    assert Plan("nothing", "nothing to do", ()).step_kinds == ""


@pytest.mark.parametrize("format_value", [0, 2, "1", None])
def test_a_format_that_is_not_known_is_refused(format_value: Json) -> None:
    document = json.loads(PINNED_TEXT) | {"format": format_value}
    with pytest.raises(InvalidPlan, match=f"has format {format_value}, this version reads format 1") as refusal:
        from_json(json.dumps(document))
    assert refusal.value.details["found"] == format_value


def test_a_plan_without_a_format_is_refused() -> None:
    document = json.loads(PINNED_TEXT)
    del document["format"]
    with pytest.raises(InvalidPlan, match="has format None"):
        from_json(json.dumps(document))


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
numbers = st.floats(0.001, 1e6)
scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False), names
)
values: st.SearchStrategy[Json] = scalars | st.lists(scalars, max_size=2) | st.just({"a": [{"b": None}]})
documents = st.dictionaries(names, values, max_size=2)
goals = st.dictionaries(names, values, min_size=1, max_size=2)
kinds = st.sampled_from(["set_power/1", "set_power/2", "set_port/1", "boot/12"])
events = st.sampled_from(NodeEvent)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan that ``check`` accepts."""
    nodes = tuple(draw(st.lists(names, unique=True, max_size=4)))
    return Plan(
        kind=draw(names),
        summary=draw(names),
        steps=tuple(draw(steps(n)) for n in range(1, draw(st.integers(0, 4)) + 1)),
        nodes=nodes,
        inputs=draw(st.dictionaries(names, st.integers(1, 2**31), max_size=3)),
        tenant=draw(st.none() | names),
        moves=tuple(draw(moves(node)) for node in nodes if draw(st.booleans())),
    )


@st.composite
def steps(draw: st.DrawFn, n: int) -> Step:
    """A step that needs any of those before it."""
    return Step(
        n=n,
        kind=draw(kinds),
        target=draw(names),
        device=draw(names),
        goal=draw(goals),
        args=draw(documents),
        needs=tuple(draw(st.lists(st.integers(1, n - 1), unique=True, max_size=3))) if n > 1 else (),
        deadline=draw(numbers),
        hold_down=draw(numbers | st.just(0.0)),
        interruptible=draw(st.booleans()),
        undo=draw(st.none() | st.builds(Undo, kinds, goals, documents)),
    )


def moves(node: str) -> st.SearchStrategy[LifecycleChange]:
    tenants = st.none() | names
    whole = st.builds(LifecycleChange, st.just(node), events, events, events, tenants)
    last_only = st.builds(LifecycleChange, st.just(node), st.none(), st.none() | events, st.none() | events, tenants)
    return whole | last_only


@given(plans())
def test_a_stored_plan_comes_back_as_it_was(plan: Plan) -> None:
    check(plan)
    text = canonical(to_json(plan))
    parsed = from_json(text)
    assert parsed == plan
    assert parsed.digest == plan.digest
    assert canonical(to_json(parsed)) == text


def chain(*undoable: bool) -> Plan:
    return Plan(
        "chain",
        "one after the other",
        tuple(
            Step(
                n,
                "set_power/1",
                f"t{n}",
                "pcs",
                {"power": "on"},
                needs=(n - 1,) if n > 1 else (),
                undo=Undo("set_power/1", {"power": "off"}) if back else None,
            )
            for n, back in enumerate(undoable, 1)
        ),
    )


def waits(back: Iterable[Step]) -> dict[int, tuple[int, ...]]:
    return {step.n: step.needs for step in back}


def test_undo_turns_the_order_round() -> None:
    assert waits(undo_steps(chain(True, True, True), frozenset({1, 2, 3}))) == {-3: (), -2: (-3,), -1: (-2,)}


def test_only_steps_that_acted_are_undone() -> None:
    assert waits(undo_steps(chain(True, True, True), frozenset({1, 3}))) == {-3: (), -1: (-3,)}
    assert undo_steps(chain(True, True), frozenset()) == ()


def test_the_order_holds_through_a_step_that_has_no_undo() -> None:
    assert waits(undo_steps(chain(True, False, False, True), frozenset({1, 2, 3, 4}))) == {-4: (), -1: (-4,)}


def test_an_undo_step_says_what_to_do_and_may_not_be_interrupted_by_less_time() -> None:
    (step,) = undo_steps(PINNED, frozenset({1, 2}))
    assert step == Step(
        n=-2,
        kind="set_power/1",
        target="x1000c0s0b0n0",
        device="pcs",
        goal={"power": "on"},
        args={"soft": False},
        deadline=90.5,
        hold_down=2.0,
    )


def ancestors(plan: Plan) -> dict[int, set[int]]:
    """Of each step, everything it was built upon, however far down."""
    by_step: dict[int, set[int]] = {}
    for step in plan.steps:  # drawn so that needs come first
        by_step[step.n] = set(step.needs).union(*(by_step[need] for need in step.needs))
    return by_step


@st.composite
def webs(draw: st.DrawFn) -> Plan:
    """Steps of any shape, some without undo."""
    count = draw(st.integers(0, 9))
    return Plan(
        "web",
        "any shape",
        tuple(
            Step(
                n,
                "set_power/1",
                f"t{n}",
                "pcs",
                {"power": "on"},
                needs=tuple(draw(st.sets(st.integers(1, n - 1), max_size=3))) if n > 1 else (),
                undo=draw(st.sampled_from([Undo("set_power/1", {"power": "off"}), None])),
            )
            for n in range(1, count + 1)
        ),
    )


@given(webs(), st.sets(st.integers(1, 9)))
def test_a_step_is_undone_after_everything_built_upon_it(plan: Plan, acted: set[int]) -> None:
    back = {-step.n: step for step in undo_steps(plan, frozenset(acted))}
    assert back.keys() == {step.n for step in plan.steps if step.undo and step.n in acted}

    dependants: dict[int, set[int]] = {}

    def waits_for(n: int) -> set[int]:
        if n not in dependants:
            direct = {-need for need in back[n].needs}
            dependants[n] = direct.union(*(waits_for(need) for need in direct))
        return dependants[n]

    below = ancestors(plan)
    for n in back:
        assert waits_for(n) == {m for m in back if n in below[m]}


def moved(reviewed: Plan, current: Plan) -> PlanMoved:
    with pytest.raises(PlanMoved) as refusal:
        refuse_if_moved(reviewed, current)
    assert refusal.value.details["reviewed"] == reviewed.digest
    assert refusal.value.details["current"] == current.digest
    return refusal.value


def test_the_same_plan_has_not_moved() -> None:
    refuse_if_moved(GOOD, from_json(canonical(to_json(GOOD))))


def test_an_input_that_moved_is_named_with_both_versions() -> None:
    error = moved(GOOD, replace(GOOD, inputs={"node:x1000c0s0b0n0": 5, "node:x1000c0s0b0n1": 7}))
    assert error.details["moved"] == ["node:x1000c0s0b0n0 went from version 3 to 5"]
    assert error.details["steps"] == []
    assert "node:x1000c0s0b0n0 went from version 3 to 5" in error.message
    assert GOOD.digest in error.message


def test_an_input_that_came_or_went_is_named() -> None:
    error = moved(GOOD, replace(GOOD, inputs={"node:x1000c0s0b0n0": 3, "tenant:psi": 1}))
    assert error.details["moved"] == [
        "node:x1000c0s0b0n1 went from version 7 to none",
        "tenant:psi went from version none to 1",
    ]


def test_steps_that_differ_are_numbered() -> None:
    more = Step(3, "set_power/1", "x1000c0s0b0n2", "pcs", {"power": "on"})
    error = moved(GOOD, replace(changed(1, deadline=1.0), steps=(*changed(1, deadline=1.0).steps, more)))
    assert error.details["steps"] == [1, 3]
    assert "steps [1, 3] differ" in error.message


def test_another_request_is_called_that() -> None:
    assert "the request differs" in moved(GOOD, replace(GOOD, summary="another")).message
