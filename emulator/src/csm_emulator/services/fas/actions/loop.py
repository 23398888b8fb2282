"""The loop that runs actions, one after the other, every five seconds while there is one."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.operations import Launching
from csm_emulator.services.fas.actions.records import Records
from csm_emulator.services.fas.actions.states import ACTION, OPERATION, OVER, after, can
from csm_emulator.state.clock import next_tick

EVERY = 5.0
ROUND = 0.2
"""Seconds that a round takes at most."""
_DONE = ("completed", "aborted")


class Control:
    def __init__(self, context: Context, records: Records, launching: Launching) -> None:
        self._context = context
        self._records = records
        self._launching = launching
        self._timer = context.tables.open("fas.timer")
        self._touched = set(records.actions)
        """Actions in which something happened that the loop has not seen."""
        records.changed = self._touched.add
        context.scheduler.register("fas.loop", self._loop)

    def wake(self) -> None:
        if "next" not in self._timer:
            now, random = self._context.clock.now(), self._context.random
            beat = next_tick(now, EVERY, random.between(0.0, EVERY, "fas.loop"))
            # It sleeps for five seconds after each round, and a round takes its time.
            self._timer["next"] = beat + random.between(0.0, ROUND, "fas.round", beat)
            self._context.scheduler.at(self._timer["next"], "fas.loop")

    def restarted(self) -> None:
        """What was under way begins again where it can."""
        for action in list(self._records.actions.values()):
            if action["state"] == "running":
                for operation in list(self._records.of_action(action)):
                    self._again(operation)
        self._touched.update(self._records.actions)
        self.wake()

    def _again(self, operation: Json) -> None:
        if operation["state"] == "inProgress":
            self._launching.start(operation)
        elif operation["state"] == "verifying":
            self._launching.verify(operation)

    def _loop(self) -> None:
        self._timer.pop("next", None)
        if self._context.faults.present("service-restart", "fas"):
            return
        running = ""
        for action in [each for each in self._records.actions.values() if each["state"] not in (*_DONE, "new")]:
            running = self._turn(action, running)
        if any(each["state"] not in (*_DONE, "new") for each in self._records.actions.values()):
            self.wake()

    def _turn(self, action: Json, running: str) -> str:
        """What is to be done for one action; the answer is which one runs now."""
        if action["state"] == "abortSignaled":
            self._abort(action)
        elif action["state"] == "running":
            return running if self._run(action) else running or action["actionID"]
        elif action["state"] == "configured":
            return self._begin(action, running)
        elif action["state"] == "blocked" and not any(self._is_open(blocker) for blocker in action["blockedBy"]):
            self._records.put_action(after(ACTION, action, "unblock"))
        return running

    def _is_open(self, action: str) -> bool:
        found = self._records.actions.get(action)
        return found is not None and found["state"] not in _DONE

    def _begin(self, action: Json, running: str) -> str:
        if running:
            self._records.put_action(after(ACTION, action, "block", blockedBy=[*action["blockedBy"], running]))
            return running
        self._records.put_action(after(ACTION, action, "start"))
        self._touched.add(action["actionID"])
        return str(action["actionID"])

    def _run(self, action: Json) -> bool:
        """Whether it is over with this."""
        if action["actionID"] not in self._touched:
            return False
        self._touched.discard(action["actionID"])
        for operation in list(self._records.of_action(action)):
            if operation["state"] == "configured":
                self._launching.start(operation)
            elif operation["state"] == "needsVerified":
                self._launching.verify(operation)
        self._unblock(action)
        if any(operation["state"] not in OVER for operation in self._records.of_action(action)):
            return False
        self._records.put_action(after(ACTION, action, "finish", endTime=self._context.clock.now()))
        for xname in {operation["xname"] for operation in self._records.of_action(action)}:
            self._launching.release(xname)
        return True

    def _unblock(self, action: Json) -> None:
        states = {operation["operationID"]: operation["state"] for operation in self._records.of_action(action)}
        for operation in list(self._records.of_action(action)):
            open_blockers = [each for each in operation["blockedBy"] if states.get(each) not in OVER]
            if operation["state"] == "blocked" and not open_blockers:
                self._records.put_operation(after(OPERATION, operation, "unblock", stateHelper="unblocked"))

    def _abort(self, action: Json) -> None:
        for operation in list(self._records.of_action(action)):
            if operation["launched"] and operation["state"] in OVER:
                self._launching.release(operation["xname"])
                continue
            where = "doVerify" if operation["state"] == "verifying" else "doLaunch"
            launched = f"abort received from quit in {where}"
            helper = launched if operation["launched"] else "abort received from abort loop"
            self._launching.end(operation, "abort", helper, operation["error"])
        self._records.put_action(after(ACTION, action, "abort", endTime=self._context.clock.now()))


def signal_abort(action: Json) -> Json | None:
    """The action with the signal; None when it is over already."""
    return after(ACTION, action, "signalAbort") if can(ACTION, action, "signalAbort") else None
