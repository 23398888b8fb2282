"""``node.power``: bring nodes to a power state. One step a node, which the power service takes in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canton.domain.node import Node
from canton.domain.nodeset.nodeset import fold
from canton.operations.plan.plan import Plan, Step, Undo, check

SET_POWER = "set_power/1"
DEADLINE = 600.0


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """The nodes of one snapshot, the power last seen of each, and the service that switches it."""

    nodes: Sequence[Node]
    power: Mapping[str, str]
    device: str


def plan_power(snapshot: NodeSnapshot, want: str, tenant: str | None = None) -> Plan:
    """Undoing restores the observed power; a node without an observation is left as it is."""
    steps = power_steps(snapshot, want)
    nodes = tuple(node.xname for node in snapshot.nodes)
    return check(
        Plan(
            kind="node.power",
            summary=f"power {want} {fold(nodes)}",
            steps=steps,
            nodes=nodes,
            inputs={f"node:{node.xname}": node.version for node in snapshot.nodes},
            tenant=tenant,
        )
    )


def power_steps(snapshot: NodeSnapshot, want: str) -> tuple[Step, ...]:
    return tuple(
        Step(
            n=n,
            kind=SET_POWER,
            target=node.xname,
            device=snapshot.device,
            goal={"power": want},
            deadline=DEADLINE,
            undo=_undo(snapshot.power.get(node.xname), want),
        )
        for n, node in enumerate(snapshot.nodes, 1)
    )


def _undo(last_power: str | None, want: str) -> Undo | None:
    return Undo(SET_POWER, {"power": last_power}) if last_power in ("on", "off") and last_power != want else None
