"""The actions of the provider on the life cycle of nodes: one table, one planner.

Canton sanitises nothing and proves no separation yet. So a node that leaves its tenant ends in quarantine, a node
becomes free only when a person vouches that it is sanitised, and a tenant's node is shown as unproven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from canton.domain.errors import WrongState
from canton.domain.lifecycle import NodeEvent, NodeState, events_from, next_state
from canton.domain.nodeset.nodeset import fold
from canton.operations.plan.plan import LifecycleChange, Plan, Step, check
from canton.operations.planners.power_nodes import NodeSnapshot, power_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleAction:
    """An action on a node's life cycle: its events, and the sentence for the plan's summary."""

    verb: str
    """The name of the action: also the last part of the route and of the permission."""
    summary: str
    done: NodeEvent
    start: NodeEvent | None = None
    undone: NodeEvent | None = None
    powers_off: bool = True

    def end(self, state: NodeState) -> NodeState | None:
        """The state that the action leads to; None if it is not possible, or if the node is in that state already."""
        first = self.start or self.done
        if first not in events_from(state):
            return None
        reached = next_state(state, first)
        end = next_state(reached, self.done) if self.start else reached
        return None if end == state else end


ACTIONS: Mapping[str, LifecycleAction] = {
    action.verb: action
    for action in (
        LifecycleAction(
            verb="enroll",
            summary="enroll {nodes} as free; a person vouches that they are sanitised",
            start=NodeEvent.CLEAN,
            done=NodeEvent.SANITISED,
            undone=NodeEvent.ABANDON,
        ),
        LifecycleAction(
            verb="assign",
            summary="assign {nodes} to {tenant}; separation unproven",
            start=NodeEvent.ASSIGN,
            done=NodeEvent.JOINED,
            undone=NodeEvent.UNDO,
        ),
        LifecycleAction(
            verb="release",
            summary="release {nodes} from {tenant} into quarantine; not sanitised",
            start=NodeEvent.RELEASE,
            done=NodeEvent.VACATED,
            undone=NodeEvent.ABANDON,
        ),
        LifecycleAction(verb="maintenance", summary="take {nodes} into maintenance", done=NodeEvent.MAINTENANCE),
        # Without a step: the blade may have been pulled out, and then no controller answers for it.
        LifecycleAction(verb="retire", summary="retire {nodes}", done=NodeEvent.RETIRE, powers_off=False),
    )
}


def plan_lifecycle_action(
    snapshot: NodeSnapshot, action: LifecycleAction, tenant: str | None = None, *, power_off: bool = True
) -> Plan:
    """The plan of the action; ``tenant`` gets the nodes or loses them. Without ``power_off`` their power stays."""
    _require_possible_states(snapshot, action)
    nodes = tuple(node.xname for node in snapshot.nodes)
    return check(
        Plan(
            kind=f"node.{action.verb}",
            summary=action.summary.format(nodes=fold(nodes), tenant=tenant or "their tenants"),
            steps=_steps(snapshot, action) if action.powers_off and power_off else (),
            nodes=nodes,
            inputs={f"node:{node.xname}": node.version for node in snapshot.nodes},
            tenant=tenant,
            moves=tuple(LifecycleChange(node, action.start, action.done, action.undone, tenant) for node in nodes),
        )
    )


def _steps(snapshot: NodeSnapshot, action: LifecycleAction) -> tuple[Step, ...]:
    """A node that changed hands is never switched on again by an undo: it ends in quarantine, and stays off there."""
    steps = power_steps(snapshot, "off")
    return tuple(replace(step, undo=None) for step in steps) if action.start else steps


def _require_possible_states(snapshot: NodeSnapshot, action: LifecycleAction) -> None:
    names_by_state: dict[NodeState, list[str]] = {}
    for node in snapshot.nodes:
        if action.end(node.state) is None:
            names_by_state.setdefault(node.state, []).append(node.xname)
    if not names_by_state:
        return
    possible = " or ".join(_state_phrase(state) for state in NodeState if action.end(state) is not None)
    are = ", ".join(
        f"{fold(names)} {'is' if len(names) == 1 else 'are'} {_state_phrase(state)}"
        for state, names in names_by_state.items()
    )
    first = [
        f"for {fold(names)} first run: " + ", then: ".join(f"canton node {verb}" for verb in verbs)
        for state, names in names_by_state.items()
        if (verbs := _verbs_to(action, state))
    ]
    nodes = fold(name for names in names_by_state.values() for name in names)
    raise WrongState(
        "; ".join([f"node {action.verb} takes only nodes that are {possible}, and {are}", *first]),
        nodes=nodes,
        states=sorted(names_by_state),
    )


def _state_phrase(state: NodeState) -> str:
    return f"in {state}" if state is NodeState.MAINTENANCE else state


def _verbs_to(action: LifecycleAction, state: NodeState) -> tuple[str, ...]:
    """The shortest sequence of actions after which ``action`` is possible.

    It is empty if ``action`` is possible now, or if only ``assign`` would lead there: a node is not given to a tenant
    only to be taken back.
    """
    if state in {action.end(start) for start in NodeState} or action.verb == "release":
        return ()
    paths: list[tuple[NodeState, tuple[str, ...]]] = [(state, ())]
    for current, verbs in paths:
        if action.end(current) is not None:
            return verbs
        for verb, next_action in ACTIONS.items():
            end = next_action.end(current)
            if end is not None and verb not in ("assign", *verbs):
                paths.append((end, (*verbs, verb)))
    return ()
