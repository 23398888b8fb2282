"""Planners are pure: one snapshot, one plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import WrongState
from canton.domain.lifecycle import RESTING, NodeEvent, NodeState, must_have_tenant
from canton.domain.node import Node
from canton.operations.plan.plan import LifecycleChange, Plan, Undo, check
from canton.operations.planners.node_lifecycle import ACTIONS, plan_lifecycle_action
from canton.operations.planners.power_nodes import NodeSnapshot, plan_power

MAINTENANCE = ACTIONS["maintenance"]
MAY_BE_MAINTAINED = sorted(state for state in NodeState if MAINTENANCE.end(state))
IMPOSSIBLE = [(verb, state) for verb, action in ACTIONS.items() for state in NodeState if not action.end(state)]


def node(n: int, state: NodeState = NodeState.FREE, version: int = 1) -> Node:
    return Node(f"x1000c0s{n}b0n0", n, state, "psi" if must_have_tenant(state) else None, version)


def seen(*nodes: Node, power: dict[str, str] | None = None) -> NodeSnapshot:
    return NodeSnapshot(nodes, power or {}, "pcs")


def undo_of(plan: Plan) -> dict[str, Undo | None]:
    return {step.target: step.undo for step in plan.steps}


def test_power_is_one_step_a_node_that_one_device_takes_together() -> None:
    plan = plan_power(seen(node(0, version=3), node(1, version=9)), "on", tenant="psi")
    assert [(step.target, step.kind, step.device, step.goal, step.needs) for step in plan.steps] == [
        ("x1000c0s0b0n0", "set_power/1", "pcs", {"power": "on"}, ()),
        ("x1000c0s1b0n0", "set_power/1", "pcs", {"power": "on"}, ()),
    ]
    assert plan.summary == "power on x1000c0s[0-1]b0n0"
    assert plan.nodes == ("x1000c0s0b0n0", "x1000c0s1b0n0")
    assert plan.inputs == {"node:x1000c0s0b0n0": 3, "node:x1000c0s1b0n0": 9}
    assert plan.tenant == "psi"
    assert plan.moves == ()


@pytest.mark.parametrize(
    ("power_before", "want", "back"),
    [("off", "on", "off"), ("on", "off", "on"), ("on", "on", None), ("off", "off", None), ("unknown", "on", None)],
)
def test_undo_goes_back_to_what_was_seen(power_before: str, want: str, back: str | None) -> None:
    plan = plan_power(seen(node(0), power={"x1000c0s0b0n0": power_before}), want)
    assert undo_of(plan) == {"x1000c0s0b0n0": Undo("set_power/1", {"power": back}) if back else None}


def test_what_was_never_seen_is_left_as_it_is() -> None:
    assert undo_of(plan_power(seen(node(0)), "on")) == {"x1000c0s0b0n0": None}


def test_the_orders_lead_where_the_life_cycle_says() -> None:
    ends = {
        verb: {str(state): str(action.end(state)) for state in NodeState if action.end(state)}
        for verb, action in ACTIONS.items()
    }
    assert ends == {
        "enroll": {"discovered": "free", "quarantined": "free", "maintenance": "free"},
        "assign": {"free": "assigned"},
        "release": {"assigned": "quarantined"},
        "maintenance": {"discovered": "maintenance", "free": "maintenance", "quarantined": "maintenance"},
        "retire": {"maintenance": "retired"},
    }


def test_from_every_state_that_a_node_can_rest_in_an_order_leads_on() -> None:
    """A retired node is deleted; ``api/test_node_lifecycle.py`` walks the same with a worker."""
    stuck = [state for state in RESTING if not any(action.end(state) for action in ACTIONS.values())]
    assert stuck == [NodeState.RETIRED]


@pytest.mark.parametrize("state", MAY_BE_MAINTAINED)
def test_a_node_without_a_tenant_is_powered_off_for_maintenance(state: NodeState) -> None:
    plan = plan_lifecycle_action(seen(node(0, state, version=5), power={"x1000c0s0b0n0": "on"}), MAINTENANCE)
    assert (plan.kind, plan.summary) == ("node.maintenance", "take x1000c0s0b0n0 into maintenance")
    assert [step.goal for step in plan.steps] == [{"power": "off"}]
    assert undo_of(plan) == {"x1000c0s0b0n0": Undo("set_power/1", {"power": "on"})}
    assert plan.moves == (LifecycleChange("x1000c0s0b0n0", done=NodeEvent.MAINTENANCE),)
    assert plan.inputs == {"node:x1000c0s0b0n0": 5}


def test_a_node_whose_controller_is_dead_goes_into_maintenance_without_a_step() -> None:
    assert plan_lifecycle_action(seen(node(0)), MAINTENANCE, power_off=False).steps == ()


@pytest.mark.parametrize("verb", ["enroll", "assign", "release"])
def test_a_node_that_changes_hands_is_off_and_never_switched_on_again_by_an_undo(verb: str) -> None:
    state = next(state for state in NodeState if ACTIONS[verb].end(state))
    plan = plan_lifecycle_action(seen(node(0, state), power={"x1000c0s0b0n0": "on"}), ACTIONS[verb], "psi")
    assert [(step.goal, step.undo) for step in plan.steps] == [({"power": "off"}, None)]
    assert {move.tenant for move in plan.moves} == {"psi"} == {plan.tenant}


@pytest.mark.parametrize(("verb", "words"), [
    ("enroll", "a person vouches that they are sanitised"),
    ("assign", "separation unproven"),
    ("release", "into quarantine; not sanitised"),
])  # fmt: skip
def test_a_plan_says_what_canton_does_not_do(verb: str, words: str) -> None:
    state = next(state for state in NodeState if ACTIONS[verb].end(state))
    assert words in plan_lifecycle_action(seen(node(0, state)), ACTIONS[verb], "psi").summary


@pytest.mark.parametrize(("verb", "state"), IMPOSSIBLE)
def test_an_order_that_the_life_cycle_does_not_have_refuses_the_plan(verb: str, state: NodeState) -> None:
    good = next(state for state in NodeState if ACTIONS[verb].end(state))
    refusal = rf"node {verb} takes only nodes that are .*, and x1000c0s1b0n0 is (in )?{state}"
    with pytest.raises(WrongState, match=refusal):
        plan_lifecycle_action(seen(node(0, good), node(1, state)), ACTIONS[verb])


def test_a_refusal_says_in_maintenance_as_people_do() -> None:
    with pytest.raises(WrongState, match=r"node retire takes only nodes that are in maintenance, and .* is free"):
        plan_lifecycle_action(seen(node(0, NodeState.FREE)), ACTIONS["retire"])


@pytest.mark.parametrize(
    ("verb", "state", "hint"),
    [
        ("retire", "quarantined", "; for x1000c0s[0-1]b0n0 first run: canton node maintenance"),
        ("retire", "assigned", " first run: canton node release, then: canton node maintenance"),
        ("assign", "discovered", " first run: canton node enroll"),
        ("maintenance", "assigned", " first run: canton node release"),
        ("enroll", "free", "and x1000c0s[0-1]b0n0 are free"),
        ("release", "free", "and x1000c0s[0-1]b0n0 are free"),
        ("assign", "retired", "and x1000c0s[0-1]b0n0 are retired"),
        ("assign", "joining", "and x1000c0s[0-1]b0n0 are joining"),
    ],
)
def test_a_refused_order_says_which_commands_lead_to_it(verb: str, state: str, hint: str) -> None:
    with pytest.raises(WrongState) as refusal:
        plan_lifecycle_action(seen(*(node(n, NodeState(state)) for n in range(2))), ACTIONS[verb])
    assert refusal.value.message.endswith(hint)
    assert refusal.value.details == {"nodes": "x1000c0s[0-1]b0n0", "states": [state]}


def test_a_tenants_node_never_goes_into_maintenance() -> None:
    assert NodeState.ASSIGNED not in MAY_BE_MAINTAINED


snapshots = st.builds(
    lambda states, versions, power: NodeSnapshot(
        [node(n, state, version) for n, (state, version) in enumerate(zip(states, versions, strict=False))],
        {f"x1000c0s{n}b0n0": state for n, state in power.items()},
        "pcs",
    ),
    st.lists(st.sampled_from(MAY_BE_MAINTAINED), max_size=6),
    st.lists(st.integers(1, 99), min_size=6, max_size=6),
    st.dictionaries(st.integers(0, 6), st.sampled_from(["on", "off", "unknown"])),
)


@given(snapshots)
def test_equal_snapshots_give_equal_digests(snapshot: NodeSnapshot) -> None:
    same = NodeSnapshot(tuple(snapshot.nodes), dict(sorted(snapshot.power.items(), reverse=True)), snapshot.device)
    for plan, same_plan in (
        (plan_power(snapshot, "on"), plan_power(same, "on")),
        (plan_lifecycle_action(snapshot, MAINTENANCE), plan_lifecycle_action(same, MAINTENANCE)),
    ):
        assert check(plan).digest == same_plan.digest


@given(snapshots.filter(lambda snapshot: snapshot.nodes))
def test_a_node_that_moved_moves_the_digest(snapshot: NodeSnapshot) -> None:
    first, *other_nodes = snapshot.nodes
    later = replace(snapshot, nodes=[replace(first, version=first.version + 1), *other_nodes])
    assert plan_power(later, "off").digest != plan_power(snapshot, "off").digest
    assert plan_lifecycle_action(later, MAINTENANCE).digest != plan_lifecycle_action(snapshot, MAINTENANCE).digest
