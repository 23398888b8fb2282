"""One wave of a transition: sends the requests to controllers, and confirms or fails them by the power status."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.machine.power import ControllerUnreachable, ResetRefused
from csm_emulator.services.pcs.component_types import actions_of, redfish_url
from csm_emulator.services.pcs.power_status.polling import Polling
from csm_emulator.services.pcs.transitions import sequence
from csm_emulator.services.pcs.transitions.dependants import fail_dependants
from csm_emulator.services.pcs.transitions.records import Transition, TransitionStore
from csm_emulator.services.pcs.transitions.sequence import END_STATE, FORCE_OFF, OPERATION_OF, SHUTDOWN, WAVES
from csm_emulator.services.pcs.transitions.tasks import (
    CONFIRMED,
    FAILED,
    IN_PROGRESS,
    SENDING,
    SUCCEEDED,
    UNACHIEVED,
    WAITING,
    Task,
    TaskChanges,
)

TIMEOUT = 40.0
"""Seconds that a controller has to answer (baseTrsTaskTimeout in main.go)."""
RETRIES_DURATION = 7.0
"""Seconds that three retries take, after 1, 2 and 4 seconds."""
_ERRORS = {
    TIMEOUT: 'POST {url} giving up after 1 attempt(s): Post "{url}": context deadline exceeded',
    RETRIES_DURATION: "POST {url} giving up after 4 attempt(s): retries exhausted: last attempt received status 503 "
    "(Service Unavailable)",
}


class Waves:
    def __init__(self, context: Context, store: TransitionStore, polling: Polling) -> None:
        self._context = context
        self._machine = context.machine
        self._store = store
        self._polling = polling

    def members(self, transition: Transition, number: int) -> list[Task]:
        action, kinds = WAVES[number]
        tasks = self._store.tasks.of(transition["id"]).values()
        return [task for task in tasks if action in task["plan"] and task["type"] in kinds]

    def pending(self, transition: Transition, number: int) -> list[Task]:
        return [task for task in self.members(transition, number) if task["pending"]]

    def apply(self, transition: Transition, number: int) -> dict[float, list[str]]:
        """Sends the requests. Returns the xnames whose controllers will not answer, by the seconds PCS waits."""
        unanswered: dict[float, list[str]] = {}
        operation = OPERATION_OF[WAVES[number][0]]
        for task in self.members(transition, number):
            if task["status"] == FAILED:
                continue
            if task["state"] == WAITING and task["operation"] == operation:
                # Sent before PCS was restarted: it only remains to be confirmed.
                self._store.tasks.change(transition["id"], task, pending=True)
                continue
            seconds = self._send(transition, number, task)
            if seconds:
                unanswered.setdefault(seconds, []).append(task["xname"])
        return unanswered

    def _send(self, transition: Transition, number: int, task: Task) -> float:
        """0 when the controller accepted the request; else the seconds after which PCS gives up."""
        action, xname = WAVES[number][0], task["xname"]
        reset = sequence.reset_type(action, self._actions(xname))
        if reset is None:
            self._fail(
                transition, task, action, f"Power action not supported for {xname}", "Failed to construct payload"
            )
            return 0.0
        changes = TaskChanges(
            state=SENDING, operation=OPERATION_OF[action], description=f"Applying transition, {action}"
        )
        seconds = self._order(xname, reset, transition["id"])
        if seconds:
            self._store.tasks.change(transition["id"], task, **changes)
            return seconds
        self._accepted(transition, {**task, **changes}, action)
        return 0.0

    def _order(self, xname: str, reset: str, transition: str) -> float:
        if self._context.faults.trigger("pcs-failure", xname):
            return RETRIES_DURATION
        try:
            self._machine.power.reset(xname, reset, f"pcs transition {transition}")
        except ControllerUnreachable:
            return TIMEOUT
        except ResetRefused:
            # PCS's check of the reply's status is never true, so that a refused request counts as accepted.
            return 0.0
        return 0.0

    def _accepted(self, transition: Transition, task: Task, action: str) -> None:
        if transition["deadline"] != 0:
            self._store.tasks.change(
                transition["id"],
                task,
                status=IN_PROGRESS,
                description=f"Confirming successful transition, {action}",
                state=WAITING,
                pending=True,
            )
            return
        is_last = task["left"] == 1
        words = "Not confirming." if is_last else "Waiting for next transition."
        self._store.tasks.change(
            transition["id"],
            task,
            status=SUCCEEDED if is_last else IN_PROGRESS,
            description=f"Transition applied, {action}. {words}",
            state=CONFIRMED,
            left=task["left"] - 1,
            pending=True,
        )

    def unanswered(self, transition: Transition, number: int, seconds: float, names: list[str]) -> None:
        action = WAVES[number][0]
        for xname in names:
            task = self._store.tasks.of(transition["id"])[xname]
            part = self._machine.part(xname)
            url = redfish_url(part) if part else ""
            self._fail(
                transition, task, action, _ERRORS[seconds].format(url=url), f"Failed to apply transition, {action}"
            )

    def _fail(self, transition: Transition, task: Task, action: str, error: str, description: str) -> None:
        self._store.tasks.change(transition["id"], task, status=FAILED, error=error, description=description)
        message = f"Failed to apply transition, {action}, to dependency, {task['xname']}."
        fail_dependants(self._store, transition, action, task["xname"], message)

    def confirm_achieved(self, transition: Transition, number: int) -> None:
        """Confirms the tasks whose components have reached the state, by the last poll."""
        action = WAVES[number][0]
        end_state = END_STATE[action]
        for task in self.pending(transition, number):
            if self._polling.power(task["xname"]) == end_state:
                self._confirmed(transition, task, action)

    def _confirmed(self, transition: Transition, task: Task, action: str) -> None:
        remaining = task["left"] - 1
        changes: TaskChanges = {"state": CONFIRMED, "left": remaining, "pending": False}
        if remaining == 0:
            changes |= {"status": SUCCEEDED, "description": f"Transition confirmed, {action}"}
        else:
            changes |= {"description": f"Transition confirmed, {action}. Waiting for next transition"}
        self._store.tasks.change(transition["id"], task, **changes)

    def time_out(self, transition: Transition, number: int) -> None:
        """Tasks that are not confirmed get a forced power-off if the operation allows it, and fail otherwise."""
        action = WAVES[number][0]
        for task in self.pending(transition, number):
            force = (
                action == SHUTDOWN
                and transition["operation"] != "Soft-Off"
                and FORCE_OFF in self._actions(task["xname"])
            )
            if force:
                self._store.tasks.change(transition["id"], task, plan=[*task["plan"], FORCE_OFF], pending=False)
                continue
            self._store.tasks.change(
                transition["id"],
                task,
                status=FAILED,
                error=f"Timeout waiting for transition, {action}.",
                description=UNACHIEVED,
                pending=False,
            )
            message = f"Timeout waiting for transition, {action}, on dependency, {task['xname']}."
            fail_dependants(self._store, transition, action, task["xname"], message)

    def _actions(self, xname: str) -> dict[str, str]:
        return {action.lower(): action for action in actions_of(self._machine.part(xname))}
