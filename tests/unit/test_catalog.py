"""Planners are pure: one snapshot, one plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import WrongState
from canton.domain.lifecycle import NodeEvent, NodeState, events_from, must_have_tenant
from canton.domain.node import Node
from canton.operations.catalog.power_nodes import Seen, plan_power
from canton.operations.catalog.set_aside_nodes import plan_set_aside
from canton.operations.plan import Move, Plan, Undo, check

MAY_BE_SET_ASIDE = sorted(state for state in NodeState if NodeEvent.SET_ASIDE in events_from(state))


def node(n: int, state: NodeState = NodeState.FREE, version: int = 1) -> Node:
    return Node(f"x1000c0s{n}b0n0", n, state, "psi" if must_have_tenant(state) else None, version)


def seen(*nodes: Node, power: dict[str, str] | None = None) -> Seen:
    return Seen(nodes, power or {}, "pcs")


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
    ("before", "want", "back"),
    [("off", "on", "off"), ("on", "off", "on"), ("on", "on", None), ("off", "off", None), ("unknown", "on", None)],
)
def test_undo_goes_back_to_what_was_seen(before: str, want: str, back: str | None) -> None:
    plan = plan_power(seen(node(0), power={"x1000c0s0b0n0": before}), want)
    assert undo_of(plan) == {"x1000c0s0b0n0": Undo("set_power/1", {"power": back}) if back else None}


def test_what_was_never_seen_is_left_as_it_is() -> None:
    assert undo_of(plan_power(seen(node(0)), "on")) == {"x1000c0s0b0n0": None}


@pytest.mark.parametrize("state", MAY_BE_SET_ASIDE)
def test_a_node_that_is_nobodys_is_powered_off_and_set_aside(state: NodeState) -> None:
    plan = plan_set_aside(seen(node(0, state, version=5), power={"x1000c0s0b0n0": "on"}))
    assert [step.goal for step in plan.steps] == [{"power": "off"}]
    assert undo_of(plan) == {"x1000c0s0b0n0": Undo("set_power/1", {"power": "on"})}
    assert plan.moves == (Move("x1000c0s0b0n0", done=NodeEvent.SET_ASIDE),)
    assert plan.inputs == {"node:x1000c0s0b0n0": 5}


@pytest.mark.parametrize("state", sorted(set(NodeState) - set(MAY_BE_SET_ASIDE)))
def test_a_node_that_cannot_be_set_aside_refuses_the_plan(state: NodeState) -> None:
    with pytest.raises(WrongState, match=f"x1000c0s1b0n0 cannot be set aside: {state};"):
        plan_set_aside(seen(node(0), node(1, state)))


def test_an_assigned_node_is_never_set_aside() -> None:
    assert NodeState.ASSIGNED not in MAY_BE_SET_ASIDE


snapshots = st.builds(
    lambda states, versions, power: Seen(
        [node(n, state, version) for n, (state, version) in enumerate(zip(states, versions, strict=False))],
        {f"x1000c0s{n}b0n0": state for n, state in power.items()},
        "pcs",
    ),
    st.lists(st.sampled_from(MAY_BE_SET_ASIDE), max_size=6),
    st.lists(st.integers(1, 99), min_size=6, max_size=6),
    st.dictionaries(st.integers(0, 6), st.sampled_from(["on", "off", "unknown"])),
)


@given(snapshots)
def test_equal_snapshots_give_equal_digests(snapshot: Seen) -> None:
    same = Seen(tuple(snapshot.nodes), dict(sorted(snapshot.power.items(), reverse=True)), snapshot.device)
    for plan, again in (
        (plan_power(snapshot, "on"), plan_power(same, "on")),
        (plan_set_aside(snapshot), plan_set_aside(same)),
    ):
        assert check(plan).digest == again.digest


@given(snapshots.filter(lambda snapshot: snapshot.nodes))
def test_a_node_that_moved_moves_the_digest(snapshot: Seen) -> None:
    first, *rest = snapshot.nodes
    later = replace(snapshot, nodes=[replace(first, version=first.version + 1), *rest])
    assert plan_power(later, "off").digest != plan_power(snapshot, "off").digest
    assert plan_set_aside(later).digest != plan_set_aside(snapshot).digest
