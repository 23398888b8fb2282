"""Reservations of a transition: nobody else acts on a component meanwhile, or has lent us the right to."""

from __future__ import annotations

from csm_emulator.services.pcs.hsm_client import Hsm, Silent, Wrong
from csm_emulator.services.pcs.transitions.dependants import fail_dependants
from csm_emulator.services.pcs.transitions.records import Records, Transition
from csm_emulator.services.pcs.transitions.sequence import first_action
from csm_emulator.services.pcs.transitions.tasks import FAILED, OPEN, UNACHIEVED, Task


class Reserving:
    def __init__(self, store: Records, hsm: Hsm) -> None:
        self._store = store
        self._hsm = hsm

    def reserve(self, transition: Transition) -> None:
        """May raise ``Silent`` or ``Wrong``."""
        identity = transition["id"]
        wanted = {x: task for x, task in self._store.tasks.of(identity).items() if _concerned(task)}
        held = self._hsm.renew(wanted.values()) & wanted.keys()
        for xname in [x for x in wanted if x in held]:
            self._store.tasks.change(identity, wanted.pop(xname), owner=True)
        lent = self._hsm.check(task for task in wanted.values() if not task["reservation"])
        for xname in [x for x in wanted if x in lent]:
            self._store.tasks.change(identity, wanted.pop(xname), owner=False, reservation="")
        if wanted:
            self._acquire(transition, wanted)

    def _acquire(self, transition: Transition, wanted: dict[str, Task]) -> None:
        got = self._hsm.reserve(list(wanted))
        for xname, task in wanted.items():
            if xname in got:
                reservation, deputy = got[xname]
                self._store.tasks.change(transition["id"], task, owner=True, reservation=reservation, deputy=deputy)
            elif task["status"] in OPEN:
                self._refuse(transition, task)

    def _refuse(self, transition: Transition, task: Task) -> None:
        prefix = "Invalid deputy key and unable" if task["deputy"] else "Unable"
        xname = task["xname"]
        self._store.tasks.change(
            transition["id"],
            task,
            status=FAILED,
            error=f"{prefix} to reserve component",
            description=UNACHIEVED,
        )
        action = first_action(transition["operation"], "on" if len(task["plan"]) > 1 else "")
        message = f"{prefix} to reserve dependent component, {xname}."
        fail_dependants(self._store, transition, action, xname, message)

    def renew(self, transition: Transition) -> None:
        """What is lost is found out by ``check``."""
        owned = [task for task in self._store.tasks.of(transition["id"]).values() if task["owner"]]
        try:
            held = self._hsm.renew(owned)
        except (Silent, Wrong):
            return
        for task in owned:
            if task["xname"] not in held:
                self._store.tasks.change(transition["id"], task, owner=False)

    def check(self, transition: Transition, action: str) -> None:
        """Before each wave: whoever lost its reservation goes no further. HSM's silence is taken for consent."""
        identity = transition["id"]
        bound = [task for task in self._store.tasks.of(identity).values() if task["deputy"] and _concerned(task)]
        try:
            held = self._hsm.check(bound)
        except (Silent, Wrong):
            return
        for task in bound:
            if task["xname"] not in held and task["status"] in OPEN:
                self._store.tasks.change(
                    identity, task, status=FAILED, error="Reservation expired", description=UNACHIEVED
                )
                message = f"Reservation expired for dependency, {task['xname']}."
                fail_dependants(self._store, transition, action, task["xname"], message)


def _concerned(task: Task) -> bool:
    """Also an ended task has a reservation to be released, when it was taken before PCS was restarted."""
    return task["status"] in OPEN or bool(task["reservation"])
