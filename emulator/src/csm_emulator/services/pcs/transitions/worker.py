"""Carries out transitions: ``doTransition`` of domain/transitions.go, as phases between its waits.

Each next phase is scheduled with the number of the run. When PCS restarts, phases of the earlier run are ignored, and
a new run resumes the transition from its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.pcs.hsm_answers import (
    RETRY_DELAYS,
    HsmFailure,
    HsmInventory,
    HsmReservations,
    HsmUnavailable,
)
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.transitions import records
from csm_emulator.services.pcs.transitions.records import ENDED, SIGNALED, Transition, TransitionStore
from csm_emulator.services.pcs.transitions.reservations import TransitionReservations
from csm_emulator.services.pcs.transitions.sequence import WAVES, wakes_controllers
from csm_emulator.services.pcs.transitions.start import TaskPreparation
from csm_emulator.services.pcs.transitions.tasks import OPEN, Task
from csm_emulator.services.pcs.transitions.waves import Waves

POLL_INTERVAL = 15.0
RENEW_INTERVAL = 30.0
"""A reservation of one minute is renewed half a minute before it ends."""
RESUME_DELAY = 30.0
"""Another process resumes a transition after three missed keep-alives of 10 s."""
CONTROLLER_TRIES = 20


class Worker:
    def __init__(self, context: Context, store: TransitionStore, polling: Polling, hsm: HsmClient) -> None:
        self._context = context
        self._store = store
        self._polling = polling
        self._preparation = TaskPreparation(context, store, polling, HsmInventory(hsm))
        self._reservations = TransitionReservations(store, HsmReservations(hsm))
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
        context.scheduler.register("pcs.run-phase", self._run_phase)

    def start(self, transition: Transition) -> None:
        self._next(transition, 0.0, "begin")

    def restart(self) -> None:
        """Starts a new run of each transition that has not ended."""
        for transition in self._store.all():
            if transition["status"] not in ENDED:
                resumed = self._store.change(transition, run=transition["run"] + 1)
                self._next(resumed, RESUME_DELAY, "begin")

    def _next(self, transition: Transition, seconds: float, phase: str, *args: Json) -> None:
        self._context.scheduler.after(seconds, "pcs.goes-on", transition["id"], transition["run"], phase, *args)

    def _run_phase(self, identity: str, run: int, phase: str, *args: Json) -> None:
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
        self._preparation.make_tasks(transition)
        if transition["status"] == SIGNALED:
            self._abort(transition)
            return
        transition = self._store.change(transition, status=records.IN_PROGRESS)
        if self._open(transition):
            self._next(transition, 0.0, "gather", 0)
        else:
            self._end(transition, records.COMPLETED)

    def _gather(self, transition: Transition, attempts: int) -> None:
        try:
            self._preparation.gather(transition)
        except HsmUnavailable:
            if attempts < len(RETRY_DELAYS):
                self._next(transition, RETRY_DELAYS[attempts], "gather", attempts + 1)
                return
            self._preparation.fail_open(transition, "Error retrieving HSM data")
        except HsmFailure:
            self._preparation.fail_open(transition, "Error retrieving HSM data")
        self._next(transition, 0.0, "reserve", 0)

    def _reserve(self, transition: Transition, attempts: int) -> None:
        try:
            self._reservations.reserve(transition)
        except HsmUnavailable as unavailable:
            if attempts < len(RETRY_DELAYS):
                self._next(transition, RETRY_DELAYS[attempts], "reserve", attempts + 1)
                return
            self._refused(transition, f"ERROR aquiring needed reservations: {unavailable}")
        except HsmFailure as failure:
            self._refused(transition, str(failure))
        else:
            self._next(transition, RENEW_INTERVAL, "renew")
            self._next(transition, 0.0, "wave", 0, False)

    def _refused(self, transition: Transition, error: str) -> None:
        self._preparation.fail_open(transition, error, "Error acquiring reservations")
        self._end(transition, records.COMPLETED)

    def _renew(self, transition: Transition) -> None:
        self._reservations.renew(transition)
        self._next(transition, RENEW_INTERVAL, "renew")

    def _wave(self, transition: Transition, number: int, wait: bool) -> None:
        """Begins the next wave that has tasks; ends the transition when there is none."""
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

    def _controllers(self, transition: Transition, number: int, attempts: int) -> None:
        """Waits for controllers that just got power, up to ``CONTROLLER_TRIES`` polls."""
        members = self._waves.members(transition, number)
        if attempts == 0:
            for task in members:
                self._store.tasks.change(transition["id"], task, description="Waiting for controller to be ready")
        waiting = any(self._polling.knows(x["xname"]) and not self._polling.available(x["xname"]) for x in members)
        if waiting and attempts < CONTROLLER_TRIES:
            self._next(transition, POLL_INTERVAL, "controllers", number, attempts + 1)
        else:
            self._apply(transition, number)

    def _apply(self, transition: Transition, number: int) -> None:
        if transition["status"] == SIGNALED:
            self._abort(transition)
            return
        self._reservations.check(transition, WAVES[number][0])
        unanswered = self._waves.apply(transition, number)
        for seconds, names in unanswered.items():
            self._next(transition, seconds, "unanswered", number, seconds, names)
        self._next(transition, max(unanswered, default=0.0), "confirm", number)

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
        self._next(self._store.change(transition, until=until), POLL_INTERVAL, "look", number)

    def _look(self, transition: Transition, number: int) -> None:
        self._waves.confirm_achieved(transition, number)
        over = transition["deadline"] >= 0 and self._context.clock.now() >= transition["until"]
        if self._waves.pending(transition, number) and not over:
            if transition["status"] == SIGNALED:
                self._abort(transition)
            else:
                self._next(transition, POLL_INTERVAL, "look", number)
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
        self._reservations.release(tasks)
