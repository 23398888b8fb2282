"""The changes of a node's state that the provider orders by hand: one table, one planner.

Canton sanitises nothing and proves no separation yet. So a node that leaves its tenant ends in quarantine, a node
becomes free only when a person vouches that it is sanitised, and a tenant's node is shown as unproven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from canton.domain.errors import WrongState
from canton.domain.lifecycle import NodeEvent, NodeState, events_from, next_state
from canton.domain.nodeset.nodeset import fold
from canton.operations.plan.plan import Move, Plan, Step, check
from canton.operations.planners.power_nodes import NodeSnapshot, power_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleOrder:
    """One verb: what it does to a node's life cycle, and what it says of itself in a plan's summary."""

    verb: str
    """Also the last part of the route and of the permission."""
    summary: str
    done: NodeEvent
    start: NodeEvent | None = None
    undone: NodeEvent | None = None
    powers_off: bool = True

    def end(self, state: NodeState) -> NodeState | None:
        """The state that the order leads to; None where the life cycle refuses it, or has the node there already."""
        first = self.start or self.done
        if first not in events_from(state):
            return None
        reached = next_state(state, first)
        end = next_state(reached, self.done) if self.start else reached
        return None if end == state else end


ORDERS: Mapping[str, LifecycleOrder] = {
    order.verb: order
    for order in (
        LifecycleOrder(
            verb="enroll",
            summary="enroll {nodes} as free; a person vouches that they are sanitised",
            start=NodeEvent.CLEAN,
            done=NodeEvent.SANITISED,
            undone=NodeEvent.ABANDON,
        ),
        LifecycleOrder(
            verb="assign",
            summary="assign {nodes} to {tenant}; separation unproven",
            start=NodeEvent.ASSIGN,
            done=NodeEvent.JOINED,
            undone=NodeEvent.UNDO,
        ),
        LifecycleOrder(
            verb="release",
            summary="release {nodes} from {tenant} into quarantine; not sanitised",
            start=NodeEvent.RELEASE,
            done=NodeEvent.VACATED,
            undone=NodeEvent.ABANDON,
        ),
        LifecycleOrder(verb="maintenance", summary="take {nodes} into maintenance", done=NodeEvent.MAINTENANCE),
        # Without a step: the blade may have been pulled out, and then no controller answers for it.
        LifecycleOrder(verb="retire", summary="retire {nodes}", done=NodeEvent.RETIRE, powers_off=False),
    )
}


def plan_move(
    snapshot: NodeSnapshot, order: LifecycleOrder, tenant: str | None = None, *, power_off: bool = True
) -> Plan:
    """``tenant`` gets the nodes or loses them. Without ``power_off`` their power stays as it is."""
    _refuse_others(snapshot, order)
    nodes = tuple(node.xname for node in snapshot.nodes)
    return check(
        Plan(
            kind=f"node.{order.verb}",
            summary=order.summary.format(nodes=fold(nodes), tenant=tenant or "their tenants"),
            steps=_steps(snapshot, order) if order.powers_off and power_off else (),
            nodes=nodes,
            inputs={f"node:{node.xname}": node.version for node in snapshot.nodes},
            tenant=tenant,
            moves=tuple(Move(node, order.start, order.done, order.undone, tenant) for node in nodes),
        )
    )


def _steps(snapshot: NodeSnapshot, order: LifecycleOrder) -> tuple[Step, ...]:
    """A node that changed hands is never switched on again by an undo: it ends in quarantine, and stays off there."""
    steps = power_steps(snapshot, "off")
    return tuple(replace(step, undo=None) for step in steps) if order.start else steps


def _refuse_others(snapshot: NodeSnapshot, order: LifecycleOrder) -> None:
    names_by_state: dict[NodeState, list[str]] = {}
    for node in snapshot.nodes:
        if order.end(node.state) is None:
            names_by_state.setdefault(node.state, []).append(node.xname)
    if not names_by_state:
        return
    possible = " or ".join(_being(state) for state in NodeState if order.end(state) is not None)
    are = ", ".join(
        f"{fold(names)} {'is' if len(names) == 1 else 'are'} {_being(state)}" for state, names in names_by_state.items()
    )
    first = [
        f"for {fold(names)} first run: " + ", then: ".join(f"canton node {verb}" for verb in verbs)
        for state, names in names_by_state.items()
        if (verbs := _verbs_to(order, state))
    ]
    nodes = fold(name for names in names_by_state.values() for name in names)
    raise WrongState(
        "; ".join([f"node {order.verb} takes only nodes that are {possible}, and {are}", *first]),
        nodes=nodes,
        states=sorted(names_by_state),
    )


def _being(state: NodeState) -> str:
    return f"in {state}" if state is NodeState.MAINTENANCE else state


def _verbs_to(order: LifecycleOrder, state: NodeState) -> tuple[str, ...]:
    """The fewest orders that bring a node where ``order`` can take it; none if it is there, or no good way leads there.

    No way leads through a tenant: a node is not given away to be taken back.
    """
    if state in {order.end(start) for start in NodeState} or order.verb == "release":
        return ()
    ways: list[tuple[NodeState, tuple[str, ...]]] = [(state, ())]
    for current, verbs in ways:
        if order.end(current) is not None:
            return verbs
        for verb, next_order in ORDERS.items():
            end = next_order.end(current)
            if end is not None and verb not in ("assign", *verbs):
                ways.append((end, (*verbs, verb)))
    return ()
