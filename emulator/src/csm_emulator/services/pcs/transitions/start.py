"""The start of a transition: makes a task for each component, reads the component's state, and plans its actions."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.pcs.component_types import INVALID, POWERED, actions_of, type_of
from csm_emulator.services.pcs.hsm_answers import HsmInventory
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.transitions import sequence
from csm_emulator.services.pcs.transitions.records import Transition, TransitionStore
from csm_emulator.services.pcs.transitions.tasks import FAILED, OPEN, UNACHIEVED, UNSUPPORTED, Task, new_task


class TaskPreparation:
    def __init__(self, context: Context, store: TransitionStore, polling: Polling, inventory: HsmInventory) -> None:
        self._machine = context.machine
        self._store = store
        self._polling = polling
        self._inventory = inventory

    def make_tasks(self, transition: Transition) -> None:
        """One for each text in the location, without repetitions. A text that is not an xname has a failed task."""
        identity = transition["id"]
        for xname, deputy in self._store.location(identity):
            if xname not in self._store.tasks.of(identity):
                self._store.tasks.put(identity, self._task(xname, transition["operation"], deputy))

    def _task(self, xname: str, operation: str, deputy: str) -> Task:
        kind = type_of(self._machine, xname)
        task = new_task(xname, kind, operation, deputy)
        if kind == INVALID:
            return {**task, "status": FAILED, "error": "Invalid xname", "description": UNACHIEVED}
        if kind not in POWERED:
            error = f"No power control for component type {kind}"
            return {**task, "status": UNSUPPORTED, "error": error, "description": UNACHIEVED}
        return task

    def gather(self, transition: Transition) -> None:
        """Raises ``HsmUnavailable`` and ``HsmFailure``."""
        self._discard_plans(transition)
        self._polling.refresh()
        self._fail(transition, {x for x in self._open(transition) if not self._polling.knows(x)}, "Missing xname")
        names = list(self._open(transition))
        if not names:
            return
        components = self._inventory.components(names)
        self._fail(transition, {x for x in names if x not in components}, "Xname not found in HSM")
        fed_by = self._inventory.power_maps()
        for task in self._open(transition).values():
            changes = sequence.decide(transition["operation"], task, self._component_state(transition, task))
            supplies = [supply for supply in fed_by.get(task["xname"], ()) if self._polling.power(supply) == "on"]
            self._store.tasks.change(transition["id"], task, fed_by=supplies, **changes)

    def _discard_plans(self, transition: Transition) -> None:
        """The plans of an earlier run are made anew."""
        for task in list(self._store.tasks.of(transition["id"]).values()):
            if task["plan"]:
                self._store.tasks.change(transition["id"], task, plan=[], left=0, pending=False, owner=False)

    def _open(self, transition: Transition) -> dict[str, Task]:
        return {x: task for x, task in self._store.tasks.of(transition["id"]).items() if task["status"] in OPEN}

    def _fail(self, transition: Transition, names: set[str], error: str) -> None:
        tasks = self._store.tasks.of(transition["id"])
        for xname in [name for name in tasks if name in names]:
            self._store.tasks.change(transition["id"], tasks[xname], status=FAILED, error=error, description=UNACHIEVED)

    def fail_open(self, transition: Transition, error: str, description: str = UNACHIEVED) -> None:
        for task in self._open(transition).values():
            self._store.tasks.change(transition["id"], task, status=FAILED, error=error, description=description)

    def _component_state(self, transition: Transition, task: Task) -> sequence.ComponentState:
        xname = task["xname"]
        actions = {action.lower(): action for action in actions_of(self._machine.part(xname))}
        return sequence.ComponentState(
            self._polling.power(xname),
            self._polling.operations(xname),
            actions,
            transition["operation"] != "Soft-Restart" or self._parents_restart(transition, xname),
        )

    def _parents_restart(self, transition: Transition, xname: str) -> bool:
        """The real PCS loops for ever when it finds a parent here, since its loop does not advance."""
        tasks = self._store.tasks.of(transition["id"])
        part = self._machine.part(xname)
        while part is not None and (part := self._machine.part(part.parent)) is not None:
            if part.xname in tasks and not {"GracefulRestart", "ForceRestart"} & set(actions_of(part)):
                return False
        return True
