"""Each invariant is violated by a snapshot that breaks only it, and by no sequence of correct changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import InvariantBroken
from canton.domain.invariants import INVARIANTS, Claim, Port, SystemSnapshot, Violation, name_of, require, violations
from canton.domain.lifecycle import NodeEvent, NodeState, events_from, is_transient, must_have_tenant, next_state
from canton.domain.node import Node

S, E = NodeState, NodeEvent
NODE = "x1000c0s0b0n0"
OTHER = "x1000c0s0b0n1"
PORT = "x1000c0r3j4p0"
SINCE = 1_794_700_000_000_000


def node(state: NodeState, tenant: str | None = None, *, xname: str = NODE, nid: int | None = None) -> Node:
    return Node(xname=xname, nid=nid, state=state, tenant=tenant, version=1)


def claim(operation: str = "op_1", *, xname: str = NODE) -> Claim:
    return Claim(node=xname, operation=operation, purpose="assign", since=SINCE)


def port(*tenants: str, xname: str | None = NODE) -> Port:
    return Port(name=PORT, node=xname, tenants=frozenset(tenants))


def open_operations(*names: str) -> frozenset[str]:
    return frozenset(names)


SOUND = {
    "an empty snapshot": SystemSnapshot(),
    "a node at rest": SystemSnapshot(nodes=(node(S.FREE),), ports=(port(),)),
    "a tenant's node": SystemSnapshot(nodes=(node(S.ASSIGNED, "psi"),), ports=(port("psi"),)),
    "a tenant's node that was cut off": SystemSnapshot(nodes=(node(S.ASSIGNED, "psi"),), ports=(port(),)),
    "a node on its way to a tenant": SystemSnapshot(
        nodes=(node(S.JOINING, "psi"),), claims=(claim(),), operations=open_operations("op_1"), ports=(port("psi"),)
    ),
    "a node at rest under a power operation": SystemSnapshot(
        nodes=(node(S.ASSIGNED, "psi"),), claims=(claim(),), operations=open_operations("op_1")
    ),
    "one operation with two nodes": SystemSnapshot(
        nodes=(node(S.CLEANING), node(S.CLEANING, xname=OTHER)),
        claims=(claim(), claim(xname=OTHER)),
        operations=open_operations("op_1"),
    ),
    "an operation that claims nothing": SystemSnapshot(operations=open_operations("op_1")),
    "two nodes without a nid": SystemSnapshot(nodes=(node(S.FREE), node(S.FREE, xname=OTHER))),
    "a tenant's gateway": SystemSnapshot(ports=(port("psi", xname=None),)),
}

BROKEN = [
    (
        SystemSnapshot(nodes=(node(S.FREE, "psi"),)),
        Violation("tenant-matches-state", NODE, "is free and names psi"),
    ),
    (
        SystemSnapshot(nodes=(node(S.ASSIGNED),)),
        Violation("tenant-matches-state", NODE, "is assigned and names no tenant"),
    ),
    (
        SystemSnapshot(nodes=(node(S.CLEANING),)),
        Violation("transient-node-is-claimed", NODE, "is cleaning and no open operation claims it"),
    ),
    (
        SystemSnapshot(
            nodes=(node(S.FREE),),
            claims=(claim("op_2"), claim("op_1")),
            operations=open_operations("op_1", "op_2"),
        ),
        Violation("one-claim-per-node", NODE, "is claimed 2 times, by op_1, op_2"),
    ),
    (
        SystemSnapshot(nodes=(node(S.FREE),), claims=(claim(),)),
        Violation("claim-has-open-operation", NODE, "is claimed for 'assign' by op_1, which is not open"),
    ),
    (
        SystemSnapshot(ports=(port("psi", "cscs", xname=None),)),
        Violation("one-tenant-per-port", PORT, "carries cscs and psi"),
    ),
    *(
        (
            SystemSnapshot(nodes=(node(state),), ports=(port("psi"),)),
            Violation("port-between-tenants-is-empty", PORT, f"carries psi to {NODE}, which has no tenant"),
        )
        for state in NodeState
        if not must_have_tenant(state) and not is_transient(state)
    ),
    (
        SystemSnapshot(ports=(port("psi"),)),
        Violation("port-between-tenants-is-empty", PORT, f"carries psi to {NODE}, which has no tenant"),
    ),
    (
        SystemSnapshot(nodes=(node(S.ASSIGNED, "psi"),), ports=(port("cscs"),)),
        Violation("port-carries-own-tenant", PORT, f"carries cscs to {NODE}, which is psi's"),
    ),
    (
        SystemSnapshot(nodes=(node(S.FREE, nid=7), node(S.FREE, xname=OTHER, nid=7))),
        Violation("nid-is-unique", "nid 7", f"belongs to {NODE} and {OTHER}"),
    ),
]


@pytest.mark.parametrize("snapshot", SOUND.values(), ids=SOUND.keys())
def test_a_sound_world_breaks_nothing(snapshot: SystemSnapshot) -> None:
    assert violations(snapshot) == []
    require(snapshot)


@pytest.mark.parametrize(("snapshot", "expected"), BROKEN)
def test_a_broken_world_breaks_exactly_one_rule(snapshot: SystemSnapshot, expected: Violation) -> None:
    assert violations(snapshot) == [expected]


def test_every_rule_is_seen_to_break_and_says_why() -> None:
    assert {name_of(rule) for rule in INVARIANTS} == {expected.invariant for _, expected in BROKEN}
    assert all(rule.__doc__ for rule in INVARIANTS)


def test_a_node_held_by_a_closed_operation_is_as_good_as_not_held() -> None:
    snapshot = SystemSnapshot(nodes=(node(S.CLEANING),), claims=(claim(),), operations=open_operations("op_2"))
    assert {violation.invariant for violation in violations(snapshot)} == {
        "transient-node-is-claimed",
        "claim-has-open-operation",
    }


def test_require_lists_what_it_found_and_keeps_the_message_short() -> None:
    snapshot = SystemSnapshot(nodes=tuple(node(S.FREE, "psi", xname=f"x1000c0s{slot}b0n0") for slot in range(7)))
    with pytest.raises(InvariantBroken, match="7 found: x1000c0s0b0n0: is free and names psi") as broken:
        require(snapshot)
    assert "x1000c0s4b0n0" in broken.value.message
    assert "x1000c0s5b0n0" not in broken.value.message
    assert [["tenant-matches-state", f"x1000c0s{slot}b0n0", "is free and names psi"] for slot in range(7)] == (
        broken.value.details["violations"]
    )


STARTS = {E.ASSIGN, E.RELEASE, E.CLEAN, E.MAINTENANCE}
ENDS = {E.JOINED, E.SANITISED, E.VACATED, E.UNDO, E.ABANDON}


@dataclass
class Model:
    """The smallest Canton that is correct: it claims, cuts and connects in the order the life cycle demands."""

    nodes: dict[str, Node]
    claims: dict[str, Claim] = field(default_factory=dict)
    ports: dict[str, frozenset[str]] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    """Whose data is on a node. Canton cannot see it, so no rule reads it."""

    def snapshot(self) -> SystemSnapshot:
        return SystemSnapshot(
            nodes=tuple(self.nodes.values()),
            claims=tuple(self.claims.values()),
            operations=frozenset(claim.operation for claim in self.claims.values()),
            ports=tuple(Port(f"port of {xname}", xname, tenants) for xname, tenants in self.ports.items()),
        )

    def possible(self) -> list[Callable[[], None]]:
        """What may happen next, to any node."""
        return [action for node in self.nodes.values() for action in self._possible(node)]

    def _possible(self, node: Node) -> Iterator[Callable[[], None]]:
        events = set(events_from(node.state))
        if node.xname in self.claims:
            yield from (partial(self.end, node, event) for event in E if event in ENDS & events)
        else:
            yield from (partial(self.start, node, event, "psi") for event in E if event in STARTS & events)
            yield from (partial(self.start, node, event, "cscs") for event in E if event in {E.ASSIGN} & events)
            yield partial(self.hold, node)
        if node.tenant is not None:
            yield partial(self.ports.update, {node.xname: frozenset({node.tenant})})
        if node.state is not S.QUARANTINED:
            yield partial(self.move, node, E.DOUBT)

    def hold(self, node: Node) -> None:
        self.claims[node.xname] = claim(f"op_{node.xname}_{node.version}", xname=node.xname)

    def start(self, node: Node, event: NodeEvent, tenant: str) -> None:
        if event is E.ASSIGN:
            assert node.xname not in self.traces, f"{tenant} is given a node with data of {self.traces[node.xname]}"
            self.traces[node.xname] = tenant
        if is_transient(next_state(node.state, event)):
            self.hold(node)
        self.move(node, event, tenant if event is E.ASSIGN else node.tenant)

    def end(self, node: Node, event: NodeEvent) -> None:
        """End an operation as done, undone or abandoned; its claim is removed last."""
        if event is E.SANITISED:
            self.traces.pop(node.xname, None)
        self.move(node, event, node.tenant)
        require(self.snapshot())
        del self.claims[node.xname]

    def move(self, node: Node, event: NodeEvent, tenant: str | None = None) -> None:
        """A node that loses its tenant loses it on its ports first."""
        state = next_state(node.state, event)
        if not must_have_tenant(state):
            self.ports[node.xname] = frozenset()
            require(self.snapshot())
            tenant = None
        self.nodes[node.xname] = replace(node, state=state, tenant=tenant, version=node.version + 1)


@given(st.lists(st.integers(min_value=0, max_value=2**20), min_size=80, max_size=80))
def test_no_life_that_a_correct_canton_leads_breaks_a_rule(choices: list[int]) -> None:
    model = Model({NODE: node(S.FREE, nid=1), OTHER: node(S.DISCOVERED, xname=OTHER, nid=2)})
    for choice in choices:
        possible = model.possible()
        possible[choice % len(possible)]()
        assert violations(model.snapshot()) == []
