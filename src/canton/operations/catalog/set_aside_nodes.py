"""``node.set-aside``: the provider powers nodes off and takes them out of service, for hands to work on them."""

from __future__ import annotations

from canton.domain.errors import WrongState
from canton.domain.lifecycle import NodeEvent, NodeState, events_from
from canton.domain.nodeset import fold
from canton.operations.catalog.power_nodes import Seen, power_steps
from canton.operations.plan import Move, Plan, check


def plan_set_aside(seen: Seen) -> Plan:
    """Only a node that is nobody's can be set aside; the life cycle says which, before anything is done."""
    _refuse_others(seen)
    nodes = tuple(node.xname for node in seen.nodes)
    return check(
        Plan(
            kind="node.set-aside",
            summary=f"set aside {fold(nodes)}",
            steps=power_steps(seen, "off"),
            nodes=nodes,
            inputs={f"node:{node.xname}": node.version for node in seen.nodes},
            moves=tuple(Move(node, done=NodeEvent.SET_ASIDE) for node in nodes),
        )
    )


def _refuse_others(seen: Seen) -> None:
    possible = {state for state in NodeState if NodeEvent.SET_ASIDE in events_from(state)}
    others = {node.xname: node.state for node in seen.nodes if node.state not in possible}
    if others:
        raise WrongState(
            f"{fold(others)} cannot be set aside: {', '.join(sorted(set(others.values())))}; "
            f"only a node that is {' or '.join(sorted(possible))} can",
            nodes=fold(others),
            states=sorted(set(others.values())),
        )
