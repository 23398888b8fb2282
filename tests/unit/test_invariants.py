"""Each rule is broken by a world that breaks only it, and by nothing that a correct Canton does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from canton.domain.errors import InvariantBroken
from canton.domain.invariants import INVARIANTS, Claim, Port, Violation, World, name_of, require, violations
from canton.domain.lifecycle import NodeEvent, NodeState, events_from, is_transient, must_have_tenant, next_state
from canton.domain.node import Node

S, E = NodeState, NodeEvent
NODE = "x1000c0s0b0n0"
OTHER = "x1000c0s0b0n1"
PORT = "x1000c0r3j4p0"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def node(state: NodeState, tenant: str | None = None, *, xname: str = NODE, nid: int | None = None) -> Node:
    return Node(xname=xname, nid=nid, state=state, tenant=tenant, version=1)


def claim(operation: str = "op_1", *, xname: str = NODE) -> Claim:
    return Claim(node=xname, operation=operation, purpose="assign", since=SINCE)


def port(*tenants: str, xname: str | None = NODE) -> Port:
    return Port(name=PORT, node=xname, tenants=frozenset(tenants))


def open_operations(*names: str) -> frozenset[str]:
    return frozenset(names)


SOUND = {
    "an empty world": World(),
    "a node at rest": World(nodes=(node(S.FREE),), ports=(port(),)),
    "a tenant's node": World(nodes=(node(S.ASSIGNED, "psi"),), ports=(port("psi"),)),
    "a tenant's node that was cut off": World(nodes=(node(S.ASSIGNED, "psi"),), ports=(port(),)),
    "a node on its way to a tenant": World(
        nodes=(node(S.JOINING, "psi"),), claims=(claim(),), operations=open_operations("op_1"), ports=(port("psi"),)
    ),
    "a node at rest under a power operation": World(
        nodes=(node(S.ASSIGNED, "psi"),), claims=(claim(),), operations=open_operations("op_1")
    ),
    "one operation with two nodes": World(
        nodes=(node(S.CLEANING), node(S.CLEANING, xname=OTHER)),
        claims=(claim(), claim(xname=OTHER)),
        operations=open_operations("op_1"),
    ),
    "an operation that claims nothing": World(operations=open_operations("op_1")),
    "two nodes without a nid": World(nodes=(node(S.FREE), node(S.FREE, xname=OTHER))),
    "a tenant's gateway": World(ports=(port("psi", xname=None),)),
}

BROKEN = [
    (
        World(nodes=(node(S.FREE, "psi"),)),
        Violation("tenant-matches-state", NODE, "is free and names psi"),
    ),
    (
        World(nodes=(node(S.ASSIGNED),)),
        Violation("tenant-matches-state", NODE, "is assigned and names no tenant"),
    ),
    (
        World(nodes=(node(S.CLEANING),)),
        Violation("transient-node-is-claimed", NODE, "is cleaning and no open operation claims it"),
    ),
    (
        World(
            nodes=(node(S.FREE),),
            claims=(claim("op_2"), claim("op_1")),
            operations=open_operations("op_1", "op_2"),
        ),
        Violation("one-claim-per-node", NODE, "is claimed 2 times, by op_1, op_2"),
    ),
    (
        World(nodes=(node(S.FREE),), claims=(claim(),)),
        Violation("claim-has-open-operation", NODE, "is claimed for 'assign' by op_1, which is not open"),
    ),
    (
        World(ports=(port("psi", "cscs", xname=None),)),
        Violation("one-tenant-per-port", PORT, "carries cscs and psi"),
    ),
    *(
        (
            World(nodes=(node(state),), ports=(port("psi"),)),
            Violation("port-between-tenants-is-empty", PORT, f"carries psi to {NODE}, which is nobody's"),
        )
        for state in NodeState
        if not must_have_tenant(state) and not is_transient(state)
    ),
    (
        World(ports=(port("psi"),)),
        Violation("port-between-tenants-is-empty", PORT, f"carries psi to {NODE}, which is nobody's"),
    ),
    (
        World(nodes=(node(S.ASSIGNED, "psi"),), ports=(port("cscs"),)),
        Violation("port-carries-own-tenant", PORT, f"carries cscs to {NODE}, which is psi's"),
    ),
    (
        World(nodes=(node(S.FREE, nid=7), node(S.FREE, xname=OTHER, nid=7))),
        Violation("nid-is-unique", "nid 7", f"belongs to {NODE} and {OTHER}"),
    ),
]


@pytest.mark.parametrize("world", SOUND.values(), ids=SOUND.keys())
def test_a_sound_world_breaks_nothing(world: World) -> None:
    assert violations(world) == []
    require(world)


@pytest.mark.parametrize(("world", "expected"), BROKEN)
def test_a_broken_world_breaks_exactly_one_rule(world: World, expected: Violation) -> None:
    assert violations(world) == [expected]


def test_every_rule_is_seen_to_break_and_says_why() -> None:
    assert {name_of(rule) for rule in INVARIANTS} == {expected.invariant for _, expected in BROKEN}
    assert all(rule.__doc__ for rule in INVARIANTS)


def test_a_node_held_by_a_closed_operation_is_as_good_as_not_held() -> None:
    world = World(nodes=(node(S.CLEANING),), claims=(claim(),), operations=open_operations("op_2"))
    assert {each.invariant for each in violations(world)} == {"transient-node-is-claimed", "claim-has-open-operation"}


def test_require_lists_what_it_found_and_keeps_the_message_short() -> None:
    world = World(nodes=tuple(node(S.FREE, "psi", xname=f"x1000c0s{slot}b0n0") for slot in range(7)))
    with pytest.raises(InvariantBroken, match="7 found: x1000c0s0b0n0: is free and names psi") as broken:
        require(world)
    assert "x1000c0s4b0n0" in broken.value.message
    assert "x1000c0s5b0n0" not in broken.value.message
    assert [["tenant-matches-state", f"x1000c0s{slot}b0n0", "is free and names psi"] for slot in range(7)] == (
        broken.value.details["violations"]
    )


@dataclass
class Model:
    """The smallest Canton that is correct: it claims, cuts and connects in the order the life cycle demands."""

    nodes: dict[str, Node]
    claims: dict[str, Claim] = field(default_factory=dict)
    ports: dict[str, frozenset[str]] = field(default_factory=dict)
    started: int = 0

    def world(self) -> World:
        return World(
            nodes=tuple(self.nodes.values()),
            claims=tuple(self.claims.values()),
            operations=frozenset(claim.operation for claim in self.claims.values()),
            ports=tuple(Port(f"port of {xname}", xname, tenants) for xname, tenants in self.ports.items()),
        )

    def move(self, xname: str, event: NodeEvent, tenant: str | None = None) -> None:
        """Record an event; a node that loses its tenant loses it on its ports first."""
        before = self.nodes[xname]
        state = next_state(before.state, event)
        if not must_have_tenant(state):
            self.ports[xname] = frozenset()
            require(self.world())
            tenant = None
        self.nodes[xname] = replace(before, state=state, tenant=tenant, version=before.version + 1)

    def hold(self, xname: str) -> None:
        self.started += 1
        self.claims[xname] = Claim(xname, f"op_{self.started}", "test", SINCE)


class Walk(RuleBasedStateMachine):
    """Random lives of three nodes between two tenants, driven by the correct model."""

    nodes = st.sampled_from(["x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s1b0n0"])
    tenants = st.sampled_from(["psi", "cscs"])
    starts = st.sampled_from([E.ASSIGN, E.RELEASE, E.CLEAN])
    ends = st.sampled_from([E.JOINED, E.SANITISED, E.UNDO, E.ABANDON])

    @initialize(state=st.sampled_from([S.DISCOVERED, S.FREE]))
    def begin(self, state: NodeState) -> None:
        xnames = ["x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s1b0n0"]
        self.model = Model({xname: node(state, xname=xname, nid=nid) for nid, xname in enumerate(xnames)})
        self.traces: dict[str, set[str]] = {xname: set() for xname in xnames}

    @rule(xname=nodes, event=starts, tenant=tenants)
    def start_a_change(self, xname: str, event: NodeEvent, tenant: str) -> None:
        model, before = self.model, self.model.nodes[xname]
        if xname in model.claims or event not in events_from(before.state):
            return
        if event is E.ASSIGN:
            assert self.traces[xname] == set(), f"{xname} goes to {tenant} with traces of {self.traces[xname]}"
            self.traces[xname].add(tenant)
        model.hold(xname)
        model.move(xname, event, tenant if event is E.ASSIGN else before.tenant)

    @rule(xname=nodes)
    def start_a_power_operation(self, xname: str) -> None:
        if xname not in self.model.claims and not is_transient(self.model.nodes[xname].state):
            self.model.hold(xname)

    @precondition(lambda self: self.model.claims)
    @rule(data=st.data(), event=ends)
    def end_an_operation(self, data: st.DataObject, event: NodeEvent) -> None:
        """An operation ends as wanted if the node can, else it is given up; either way its claim goes last."""
        xname = data.draw(st.sampled_from(sorted(self.model.claims)))
        before = self.model.nodes[xname]
        if event not in events_from(before.state):
            event = E.ABANDON
        if event is E.SANITISED:
            self.traces[xname].clear()
        self.model.move(xname, event, before.tenant)
        require(self.model.world())
        del self.model.claims[xname]

    @rule(xname=nodes)
    def connect(self, xname: str) -> None:
        tenant = self.model.nodes[xname].tenant
        if tenant is not None:
            self.model.ports[xname] = frozenset({tenant})

    @rule(xname=nodes)
    def disconnect(self, xname: str) -> None:
        self.model.ports[xname] = frozenset()

    @rule(xname=nodes)
    def doubt(self, xname: str) -> None:
        self.model.move(xname, E.DOUBT)

    @rule(xname=nodes)
    def set_aside(self, xname: str) -> None:
        if E.SET_ASIDE in events_from(self.model.nodes[xname].state):
            self.model.move(xname, E.SET_ASIDE)

    @invariant()
    def nothing_is_violated(self) -> None:
        assert violations(self.model.world()) == []


TestWalk = Walk.TestCase
