"""The start of a transition: a task for each component, what is known of it, and what it will go through."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.pcs.hsm_answers import HsmInventory
from csm_emulator.services.pcs.kinds import INVALID, POWERED, actions_of, type_of
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.transitions import sequence as ladder
from csm_emulator.services.pcs.transitions.records import Records, Transition
from csm_emulator.services.pcs.transitions.tasks import FAILED, OPEN, UNACHIEVED, UNSUPPORTED, Task, new_task


class Gathering:
    def __init__(self, context: Context, store: Records, polling: Polling, inventory: HsmInventory) -> None:
        self._machine = context.machine
        self._store = store
        self._polling = polling
        self._inventory = inventory

    def make_tasks(self, transition: Transition) -> None:
        """One for each xname, however often it was named, and whether or not it is one."""
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
        self._start_over(transition)
        self._polling.refresh()
        self._fail(transition, {x for x in self._open(transition) if not self._polling.knows(x)}, "Missing xname")
        names = list(self._open(transition))
        if not names:
            return
        found = self._inventory.components(names)
        self._fail(transition, {x for x in names if x not in found}, "Xname not found in HSM")
        fed_by = self._inventory.power_maps()
        for task in self._open(transition).values():
            changes = ladder.decide(transition["operation"], task, self._seen(transition, task))
            supplies = [each for each in fed_by.get(task["xname"], ()) if self._polling.power(each) == "on"]
            self._store.tasks.change(transition["id"], task, fed_by=supplies, **changes)

    def _start_over(self, transition: Transition) -> None:
        """What an earlier run planned is planned anew."""
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

    def _seen(self, transition: Transition, task: Task) -> ladder.Seen:
        xname = task["xname"]
        actions = {action.lower(): action for action in actions_of(self._machine.part(xname))}
        return ladder.Seen(
            self._polling.power(xname),
            self._polling.operations(xname),
            actions,
            transition["operation"] != "Soft-Restart" or self._parents_restart(transition, xname),
        )

    def _parents_restart(self, transition: Transition, xname: str) -> bool:
        """The real one never comes back from a parent that it finds here: its loop does not step on."""
        tasks = self._store.tasks.of(transition["id"])
        part = self._machine.part(xname)
        while part is not None and (part := self._machine.part(part.parent)) is not None:
            if part.xname in tasks and not {"GracefulRestart", "ForceRestart"} & set(actions_of(part)):
                return False
        return True
