"""Reservations of a transition: nobody else acts on a component meanwhile, or has lent us the right to."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.services.pcs.hsm_answers import HsmFailure, HsmReservations, HsmUnavailable
from csm_emulator.services.pcs.transitions.dependants import fail_dependants
from csm_emulator.services.pcs.transitions.records import Records, Transition
from csm_emulator.services.pcs.transitions.sequence import first_action
from csm_emulator.services.pcs.transitions.tasks import FAILED, OPEN, UNACHIEVED, Task


class Reserving:
    def __init__(self, store: Records, hsm: HsmReservations) -> None:
        self._store = store
        self._hsm = hsm

    def reserve(self, transition: Transition) -> None:
        """Raises ``HsmUnavailable`` and ``HsmFailure``."""
        identity = transition["id"]
        wanted = {x: task for x, task in self._store.tasks.of(identity).items() if _concerned(task)}
        held = self._hsm.renew(_reservation_keys(wanted.values())) & wanted.keys()
        for xname in [x for x in wanted if x in held]:
            self._store.tasks.change(identity, wanted.pop(xname), owner=True)
        lent = self._hsm.check(_deputy_keys(task for task in wanted.values() if not task["reservation"]))
        for xname in [x for x in wanted if x in lent]:
            self._store.tasks.change(identity, wanted.pop(xname), owner=False, reservation="")
        if wanted:
            self._acquire(transition, wanted)

    def _acquire(self, transition: Transition, wanted: dict[str, Task]) -> None:
        reservations = self._hsm.reserve(list(wanted))
        for xname, task in wanted.items():
            if xname in reservations:
                keys = reservations[xname]
                self._store.tasks.change(
                    transition["id"],
                    task,
                    owner=True,
                    reservation=keys["ReservationKey"],
                    deputy=keys["DeputyKey"],
                )
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
            held = self._hsm.renew(_reservation_keys(owned))
        except (HsmUnavailable, HsmFailure):
            return
        for task in owned:
            if task["xname"] not in held:
                self._store.tasks.change(transition["id"], task, owner=False)

    def check(self, transition: Transition, action: str) -> None:
        """Before each wave: whoever lost its reservation goes no further. HSM's silence is taken for consent."""
        identity = transition["id"]
        bound = [task for task in self._store.tasks.of(identity).values() if task["deputy"] and _concerned(task)]
        try:
            held = self._hsm.check(_deputy_keys(bound))
        except (HsmUnavailable, HsmFailure):
            return
        for task in bound:
            if task["xname"] not in held and task["status"] in OPEN:
                self._store.tasks.change(
                    identity, task, status=FAILED, error="Reservation expired", description=UNACHIEVED
                )
                message = f"Reservation expired for dependency, {task['xname']}."
                fail_dependants(self._store, transition, action, task["xname"], message)

    def release(self, tasks: Iterable[Task]) -> None:
        """Only PCS's own reservations: a deputy key belongs to another."""
        self._hsm.release(_reservation_keys(task for task in tasks if task["owner"]))


def _reservation_keys(tasks: Iterable[Task]) -> dict[str, str]:
    return {task["xname"]: task["reservation"] for task in tasks if task["reservation"]}


def _deputy_keys(tasks: Iterable[Task]) -> dict[str, str]:
    return {task["xname"]: task["deputy"] for task in tasks if task["deputy"]}


def _concerned(task: Task) -> bool:
    """Also an ended task has a reservation to be released, when it was taken before PCS was restarted."""
    return task["status"] in OPEN or bool(task["reservation"])
