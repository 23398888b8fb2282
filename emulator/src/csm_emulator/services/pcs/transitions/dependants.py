"""Components that keep their power because a node in them did not shut down."""

from __future__ import annotations

from csm_emulator.services.pcs.transitions.records import Transition, TransitionStore
from csm_emulator.services.pcs.transitions.sequence import SHUTDOWN
from csm_emulator.services.pcs.transitions.tasks import FAILED


def fail_dependants(store: TransitionStore, transition: Transition, action: str, xname: str, message: str) -> None:
    """As ``failDependentComps``: after a failed shutdown of a node, the tasks of its blade and supply fail too.

    For other components and actions nothing is done: their dependants fail by themselves.
    """
    tasks = store.tasks.of(transition["id"])
    task = tasks.get(xname)
    if action != SHUTDOWN or task is None or task["type"] != "Node":
        return
    blade = xname.rpartition("n")[0].rpartition("b")[0]
    for parent in (blade, *_last_supply(store, transition, xname)):
        if parent in tasks:
            store.tasks.change(transition["id"], tasks[parent], status=FAILED, error=message, description=message)


def _last_supply(store: TransitionStore, transition: Transition, xname: str) -> list[str]:
    """The last supply of the node, so that it keeps power; none if a supply is not in this transition and stays on."""
    tasks = store.tasks.of(transition["id"])
    fed_by = tasks[xname]["fed_by"]
    if any(supply not in tasks for supply in fed_by):
        return []
    return fed_by[-1:]
