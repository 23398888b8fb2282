"""Properties of the table of the node's life cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import TypeAlias, TypeVar

import pytest

from canton.domain.errors import InvalidTransition
from canton.domain.lifecycle import (
    EVENTS,
    INITIAL,
    STATES,
    TRANSITIONS,
    NodeEvent,
    NodeState,
    events_from,
    is_transient,
    must_have_tenant,
    next_state,
)

S, E = NodeState, NodeEvent
TABLE = {(row.state, row.event): row.next_state for row in TRANSITIONS}
PAIRS = list(product(NodeState, NodeEvent))
T = TypeVar("T")
Situation: TypeAlias = tuple[NodeState, str | None, frozenset[str]]


def reachable(start: T, successors: Callable[[T], Iterable[T]]) -> set[T]:
    """Everything that can be reached in one step or more; the start only if there is a way back to it."""
    visited: set[T] = set()
    edge = [start]
    while edge:
        for following in successors(edge.pop()):
            if following not in visited:
                visited.add(following)
                edge.append(following)
    return visited


def moves_from(state: NodeState) -> set[NodeState]:
    return {row.next_state for row in TRANSITIONS if row.state == state != row.next_state}


def test_every_state_and_event_is_explained_and_used() -> None:
    assert set(STATES) == set(NodeState)
    assert set(EVENTS) == set(NodeEvent)
    assert {row.event for row in TRANSITIONS} == set(NodeEvent)
    assert all(row.why for row in TRANSITIONS)


def test_no_event_leads_two_ways() -> None:
    assert len(TABLE) == len(TRANSITIONS)


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_next_state_follows_the_table_and_refuses_everything_else(state: NodeState, event: NodeEvent) -> None:
    if (state, event) in TABLE:
        assert next_state(state, event) == TABLE[state, event]
        assert event in events_from(state)
        return
    assert event not in events_from(state)
    with pytest.raises(InvalidTransition) as refusal:
        next_state(state, event)
    possible = [possible for possible in NodeEvent if (state, possible) in TABLE]
    assert refusal.value.message.endswith(f"possible from {state}: {', '.join(possible)}")
    assert refusal.value.details == {"state": state, "event": event, "possible": tuple(possible)}


def test_every_state_is_reachable() -> None:
    assert {INITIAL} | reachable(INITIAL, moves_from) == set(NodeState)


def test_a_tenants_traces_never_reach_another_tenant() -> None:
    """Search every (state, tenant, whose traces are on the node) that the table allows with two tenants."""

    def successors(situation: Situation) -> Iterable[Situation]:
        state, tenant, traces = situation
        for event in events_from(state):
            following = next_state(state, event)
            wiped = STATES[state].sanitises and event is E.SANITISED
            remaining_traces = frozenset() if wiped else traces
            for owner in ("psi", "cscs") if event is E.ASSIGN else (tenant,):
                if must_have_tenant(following) and owner is not None:
                    yield following, owner, remaining_traces | {owner}
                else:
                    yield following, None, remaining_traces

    start: Situation = (INITIAL, None, frozenset({"a tenant before Canton"}))
    situations = reachable(start, successors)
    assert any(tenant == "psi" for _, tenant, _ in situations)
    assert any(tenant == "cscs" for _, tenant, _ in situations)
    for state, tenant, traces in situations:
        assert tenant is None or traces == {tenant}, f"{state} of {tenant} has traces of {sorted(traces)}"
        assert state is not S.FREE or not traces


@pytest.mark.parametrize("state", [S.JOINING, S.ASSIGNED, S.QUARANTINED, S.MAINTENANCE, S.DISCOVERED])
def test_no_way_around_the_states_that_sanitise(state: NodeState) -> None:
    def moves_without_sanitising(state: NodeState) -> set[NodeState]:
        return {following for following in moves_from(state) if not STATES[following].sanitises}

    assert not reachable(state, moves_without_sanitising) & {S.FREE, S.JOINING}


def test_a_tenant_is_reached_from_free_only_and_free_by_sanitising_only() -> None:
    into = {
        target: {(row.state, row.event) for row in TRANSITIONS if row.next_state == target != row.state}
        for target in NodeState
    }
    assert into[S.ASSIGNED] == {(S.JOINING, E.JOINED)}
    assert into[S.JOINING] == {(S.FREE, E.ASSIGN)}
    assert {event for _, event in into[S.FREE]} == {E.SANITISED}
    assert all(STATES[state].sanitises for state, _ in into[S.FREE])


@pytest.mark.parametrize("state", NodeState)
def test_giving_up_leaves_a_moving_node_in_quarantine_and_a_resting_one_alone(state: NodeState) -> None:
    assert next_state(state, E.ABANDON) == (S.QUARANTINED if is_transient(state) else state)


@pytest.mark.parametrize("state", NodeState)
def test_doubt_is_never_refused_and_takes_the_node_from_its_tenant(state: NodeState) -> None:
    closed = {S.MAINTENANCE: S.MAINTENANCE, S.RETIRED: S.RETIRED}
    assert next_state(state, E.DOUBT) == closed.get(state, S.QUARANTINED)


def test_what_cannot_be_taken_back_has_no_undo() -> None:
    assert {state for state in NodeState if E.UNDO not in events_from(state)} == {S.LEAVING, S.CLEANING}
    assert next_state(S.JOINING, E.UNDO) is S.QUARANTINED


def test_a_change_starts_from_rest() -> None:
    assert not [row for row in TRANSITIONS if is_transient(row.state) and is_transient(row.next_state)]


def test_retired_is_final() -> None:
    assert {next_state(S.RETIRED, event) for event in events_from(S.RETIRED)} == {S.RETIRED}


def test_who_has_a_tenant_and_who_is_held() -> None:
    assert {state for state in NodeState if must_have_tenant(state)} == {S.JOINING, S.ASSIGNED, S.LEAVING}
    assert {state for state in NodeState if is_transient(state)} == {S.JOINING, S.LEAVING, S.CLEANING}
