"""A transition on its way: ``doTransition`` of domain/transitions.go, cut into what happens between its waits.

Everything that it waits for is on the agenda, with the number of the run: when PCS starts anew, what the
old process had in mind is forgotten, and another takes the transition up from what is in the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from csm_emulator.context import Context
from csm_emulator.services.pcs.hsm_client import WAITS, Hsm, Silent, Wrong
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.transitions import records
from csm_emulator.services.pcs.transitions.records import ENDED, SIGNALED, Records, Transition
from csm_emulator.services.pcs.transitions.reservations import Reserving
from csm_emulator.services.pcs.transitions.sequence import WAVES, wakes_controllers
from csm_emulator.services.pcs.transitions.start import Gathering
from csm_emulator.services.pcs.transitions.tasks import OPEN, Task
from csm_emulator.services.pcs.transitions.waves import Waves

LOOK_AGAIN = 15.0
RENEW = 30.0
"""A minute's reservation is renewed in the half minute before it ends."""
TAKEN_UP = 30.0
"""Three keep-alives of 10 s are missed before another process takes a transition up."""
CONTROLLER_TRIES = 20


class Worker:
    def __init__(self, context: Context, store: Records, polling: Polling) -> None:
        self._context = context
        self._store = store
        self._polling = polling
        self._hsm = Hsm(context.mesh)
        self._gathering = Gathering(context, store, polling, self._hsm)
        self._reserving = Reserving(store, self._hsm)
        self._waves = Waves(context, store, polling)
        self._phases: Mapping[str, Callable[..., None]] = {
            "begin": self._begin,
            "gather": self._gather,
            "reserve": self._reserve,
            "wave": self._wave,
            "controllers": self._controllers,
            "unanswered": self._unanswered,
            "confirm": self._confirm,
            "look": self._look,
            "renew": self._renew,
        }
        context.scheduler.register("pcs.goes-on", self._goes_on)

    def start(self, transition: Transition) -> None:
        self._next(transition, 0.0, "begin")

    def restart(self) -> None:
        """The process that had them is gone."""
        for transition in self._store.all():
            if transition["status"] not in ENDED:
                taken = self._store.change(transition, run=transition["run"] + 1)
                self._next(taken, TAKEN_UP, "begin")

    def _next(self, transition: Transition, seconds: float, phase: str, *args: Any) -> None:
        self._context.scheduler.after(seconds, "pcs.goes-on", transition["id"], transition["run"], phase, *args)

    def _goes_on(self, identity: str, run: int, phase: str, *args: Any) -> None:
        transition = self._store.find(identity)
        stale = transition is None or transition["run"] != run or transition["status"] in ENDED
        if stale or transition is None or self._context.faults.present("service-restart", "pcs"):
            return
        self._phases[phase](transition, *args)

    def _tasks(self, transition: Transition) -> list[Task]:
        return list(self._store.tasks.of(transition["id"]).values())

    def _open(self, transition: Transition) -> bool:
        return any(task["status"] in OPEN for task in self._tasks(transition))

    def _begin(self, transition: Transition) -> None:
        self._gathering.make_tasks(transition)
        if transition["status"] == SIGNALED:
            self._abort(transition)
            return
        transition = self._store.change(transition, status=records.IN_PROGRESS)
        if self._open(transition):
            self._next(transition, 0.0, "gather", 0)
        else:
            self._end(transition, records.COMPLETED)

    def _gather(self, transition: Transition, tries: int) -> None:
        try:
            self._gathering.gather(transition)
        except Silent:
            if tries < len(WAITS):
                self._next(transition, WAITS[tries], "gather", tries + 1)
                return
            self._gathering.fail_open(transition, "Error retrieving HSM data")
        except Wrong:
            self._gathering.fail_open(transition, "Error retrieving HSM data")
        self._next(transition, 0.0, "reserve", 0)

    def _reserve(self, transition: Transition, tries: int) -> None:
        try:
            self._reserving.reserve(transition)
        except Silent as silent:
            if tries < len(WAITS):
                self._next(transition, WAITS[tries], "reserve", tries + 1)
                return
            self._refused(transition, f"ERROR aquiring needed reservations: {silent}")
        except Wrong as wrong:
            self._refused(transition, str(wrong))
        else:
            self._next(transition, RENEW, "renew")
            self._next(transition, 0.0, "wave", 0, False)

    def _refused(self, transition: Transition, error: str) -> None:
        self._gathering.fail_open(transition, error, "Error acquiring reservations")
        self._end(transition, records.COMPLETED)

    def _renew(self, transition: Transition) -> None:
        self._reserving.renew(transition)
        self._next(transition, RENEW, "renew")

    def _wave(self, transition: Transition, number: int, wait: bool) -> None:
        """The next wave that anybody takes part in."""
        tasks = self._tasks(transition)
        planned = {(action, task["type"]) for task in tasks for action in task["plan"]}
        while number < len(WAVES):
            action, kinds = WAVES[number]
            if any((action, kind) in planned for kind in kinds):
                break
            number += 1
        if number == len(WAVES):
            self._end(transition, records.COMPLETED)
        elif wait:
            self._controllers(transition, number, 0)
        else:
            self._apply(transition, number)

    def _controllers(self, transition: Transition, number: int, tries: int) -> None:
        """Power just came to these controllers: give them time, though not for ever."""
        members = self._waves.members(transition, number)
        if tries == 0:
            for task in members:
                self._store.tasks.change(transition["id"], task, description="Waiting for controller to be ready")
        waiting = any(self._polling.knows(x["xname"]) and not self._polling.available(x["xname"]) for x in members)
        if waiting and tries < CONTROLLER_TRIES:
            self._next(transition, LOOK_AGAIN, "controllers", number, tries + 1)
        else:
            self._apply(transition, number)

    def _apply(self, transition: Transition, number: int) -> None:
        if transition["status"] == SIGNALED:
            self._abort(transition)
            return
        self._reserving.check(transition, WAVES[number][0])
        late = self._waves.apply(transition, number)
        for seconds, names in late.items():
            self._next(transition, seconds, "unanswered", number, seconds, names)
        self._next(transition, max(late, default=0.0), "confirm", number)

    def _unanswered(self, transition: Transition, number: int, seconds: float, names: list[str]) -> None:
        self._waves.unanswered(transition, number, seconds, names)

    def _confirm(self, transition: Transition, number: int) -> None:
        if transition["deadline"] == 0 and not self._waves.pending(transition, number):
            self._next(transition, 0.0, "wave", number + 1, False)
            return
        if transition["status"] == SIGNALED:
            self._abort(transition)
            return
        until = self._context.clock.now() + transition["deadline"] * 60.0
        self._next(self._store.change(transition, until=until), LOOK_AGAIN, "look", number)

    def _look(self, transition: Transition, number: int) -> None:
        self._waves.look(transition, number)
        over = transition["deadline"] >= 0 and self._context.clock.now() >= transition["until"]
        if self._waves.pending(transition, number) and not over:
            if transition["status"] == SIGNALED:
                self._abort(transition)
            else:
                self._next(transition, LOOK_AGAIN, "look", number)
            return
        self._waves.time_out(transition, number)
        self._next(transition, 0.0, "wave", number + 1, wakes_controllers(*WAVES[number]))

    def _abort(self, transition: Transition) -> None:
        for task in self._tasks(transition):
            if task["status"] in OPEN:
                self._store.tasks.change(
                    transition["id"],
                    task,
                    status="failed",
                    error="Transition aborted",
                    description=f"Aborted. Last status - {task['description']}",
                )
        self._end(transition, records.ABORTED)

    def _end(self, transition: Transition, status: str) -> None:
        tasks = self._tasks(transition)
        self._store.end(transition, status)
        self._hsm.release(tasks)
