"""What must not lose its power because something in it would not stop."""

from __future__ import annotations

from csm_emulator.services.pcs.transitions.records import Records, Transition
from csm_emulator.services.pcs.transitions.sequence import SHUTDOWN
from csm_emulator.services.pcs.transitions.tasks import FAILED


def fail_dependants(store: Records, transition: Transition, action: str, xname: str, message: str) -> None:
    """``failDependentComps``: only nodes that would not shut down hold others back; the rest fails by itself."""
    tasks = store.tasks.of(transition["id"])
    task = tasks.get(xname)
    if action != SHUTDOWN or task is None or task["type"] != "Node":
        return
    blade = xname.rpartition("n")[0].rpartition("b")[0]
    for parent in (blade, *_feeder(store, transition, xname)):
        if parent in tasks:
            store.tasks.change(transition["id"], tasks[parent], status=FAILED, error=message, description=message)


def _feeder(store: Records, transition: Transition, xname: str) -> list[str]:
    """One supply stays on, if no other that is on is left to the node."""
    tasks = store.tasks.of(transition["id"])
    fed_by = tasks[xname]["fed_by"]
    if any(supply not in tasks for supply in fed_by):
        return []
    return fed_by[-1:]
