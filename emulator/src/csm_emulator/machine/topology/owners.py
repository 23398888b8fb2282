"""The institutions that have nodes, and the nodes that are up at the start."""

from __future__ import annotations

from csm_emulator.machine.parts import Owner
from csm_emulator.machine.topology.draft import Draft
from csm_emulator.records import Record


def assign_owners(draft: Draft, plans: list[Record]) -> list[Owner]:
    """Gives each owner the next free compute nodes of the blade types in its plan, some of which are up."""
    free: dict[str, list[str]] = {}
    for node, place in reversed(draft.places.items()):
        model = draft.parts[node].model
        if place.role == "Compute" and model is not None:
            free.setdefault(model.name, []).append(node)
    return [_assign_owner(draft, plan, free) for plan in plans]


def _assign_owner(draft: Draft, plan: Record, free: dict[str, list[str]]) -> Owner:
    nodes: list[str] = []
    for blade, count, up in plan["take"]:
        owned = [free[blade].pop() for _ in range(count)]
        draft.running.update(owned[:up])
        nodes += owned
    return Owner(
        plan["label"],
        plan["description"],
        tuple(nodes),
        tuple(plan.get("users", ())),
        tuple(plan.get("tags", ())),
        plan.get("exclusive", ""),
    )
