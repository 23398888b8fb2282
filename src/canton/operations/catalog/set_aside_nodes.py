"""``node.set-aside``: the provider powers nodes off and takes them out of service, for hands to work on them."""

from __future__ import annotations

from canton.domain.lifecycle import NodeEvent, next_state
from canton.domain.nodeset import fold
from canton.operations.catalog.power_nodes import Seen, power_steps
from canton.operations.plan import Move, Plan, check


def plan_set_aside(seen: Seen) -> Plan:
    """Only a node that is nobody's can be set aside; the life cycle says which, before anything is done."""
    for node in seen.nodes:
        next_state(node.state, NodeEvent.SET_ASIDE)
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
