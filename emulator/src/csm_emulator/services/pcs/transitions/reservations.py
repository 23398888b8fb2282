"""Reservations of a transition's components: PCS's own, or those of the client, whose deputy keys it was given."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.services.pcs.hsm_answers import HsmFailure, HsmReservations, HsmUnavailable
from csm_emulator.services.pcs.transitions.dependants import fail_dependants
from csm_emulator.services.pcs.transitions.records import Transition, TransitionStore
from csm_emulator.services.pcs.transitions.sequence import first_action
from csm_emulator.services.pcs.transitions.tasks import FAILED, OPEN, UNACHIEVED, Task


class TransitionReservations:
    def __init__(self, store: TransitionStore, hsm: HsmReservations) -> None:
        self._store = store
        self._hsm = hsm

    def reserve(self, transition: Transition) -> None:
        """Raises ``HsmUnavailable`` and ``HsmFailure``."""
        identity = transition["id"]
        needed = {x: task for x, task in self._store.tasks.of(identity).items() if _needs_reservation(task)}
        renewed = self._hsm.renew(_reservation_keys(needed.values())) & needed.keys()
        for xname in [x for x in needed if x in renewed]:
            self._store.tasks.change(identity, needed.pop(xname), owner=True)
        valid_deputies = self._hsm.check(_deputy_keys(task for task in needed.values() if not task["reservation"]))
        for xname in [x for x in needed if x in valid_deputies]:
            self._store.tasks.change(identity, needed.pop(xname), owner=False, reservation="")
        if needed:
            self._acquire(transition, needed)

    def _acquire(self, transition: Transition, needed: dict[str, Task]) -> None:
        reservations = self._hsm.reserve(list(needed))
        for xname, task in needed.items():
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
        """``check`` handles reservations that could not be renewed."""
        owned = [task for task in self._store.tasks.of(transition["id"]).values() if task["owner"]]
        try:
            renewed = self._hsm.renew(_reservation_keys(owned))
        except (HsmUnavailable, HsmFailure):
            return
        for task in owned:
            if task["xname"] not in renewed:
                self._store.tasks.change(transition["id"], task, owner=False)

    def check(self, transition: Transition, action: str) -> None:
        """Before each wave: a task without a valid reservation fails. When HSM does not answer, all count as valid."""
        identity = transition["id"]
        reserved_tasks = [
            task for task in self._store.tasks.of(identity).values() if task["deputy"] and _needs_reservation(task)
        ]
        try:
            valid_deputies = self._hsm.check(_deputy_keys(reserved_tasks))
        except (HsmUnavailable, HsmFailure):
            return
        for task in reserved_tasks:
            if task["xname"] not in valid_deputies and task["status"] in OPEN:
                self._store.tasks.change(
                    identity, task, status=FAILED, error="Reservation expired", description=UNACHIEVED
                )
                message = f"Reservation expired for dependency, {task['xname']}."
                fail_dependants(self._store, transition, action, task["xname"], message)

    def release(self, tasks: Iterable[Task]) -> None:
        """Releases PCS's own reservations, not those of which it has a deputy key."""
        self._hsm.release(_reservation_keys(task for task in tasks if task["owner"]))


def _reservation_keys(tasks: Iterable[Task]) -> dict[str, str]:
    return {task["xname"]: task["reservation"] for task in tasks if task["reservation"]}


def _deputy_keys(tasks: Iterable[Task]) -> dict[str, str]:
    return {task["xname"]: task["deputy"] for task in tasks if task["deputy"]}


def _needs_reservation(task: Task) -> bool:
    """An ended task too, if it has a reservation from before PCS was restarted, which is to be released."""
    return task["status"] in OPEN or bool(task["reservation"])
