"""The loop that runs actions, one after the other: every five seconds while an action is open."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.operations import OperationRunner
from csm_emulator.services.fas.actions.records import ActionStore
from csm_emulator.services.fas.actions.states import ACTION, ENDED_STATES, OPERATION, after, can
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

INTERVAL = 5.0
MAX_ROUND = 0.2
"""The most seconds that a round takes."""
_ENDED = ("completed", "aborted")


class ActionLoop:
    def __init__(self, context: Context, records: ActionStore, runner: OperationRunner) -> None:
        self._context = context
        self._records = records
        self._runner = runner
        self._timer: RecordTable[float] = context.tables.open("fas.timer")
        self._changed = set(records.actions)
        """Actions whose operations changed since the last round."""
        records.changed = self._changed.add
        context.scheduler.register("fas.loop", self._loop)

    def wake(self) -> None:
        if "next" not in self._timer:
            now, random = self._context.clock.now(), self._context.random
            beat = next_tick(now, INTERVAL, random.between(0.0, INTERVAL, "fas.loop"))
            # FAS sleeps for five seconds after each round, so that the duration of a round adds up.
            self._timer["next"] = beat + random.between(0.0, MAX_ROUND, "fas.round", beat)
            self._context.scheduler.at(self._timer["next"], "fas.loop")

    def restarted(self) -> None:
        """Starts launches and verifications that were under way again."""
        for action in list(self._records.actions.values()):
            if action["state"] == "running":
                for operation in list(self._records.of_action(action)):
                    self._resume(operation)
        self._changed.update(self._records.actions)
        self.wake()

    def _resume(self, operation: Json) -> None:
        if operation["state"] == "inProgress":
            self._runner.start(operation)
        elif operation["state"] == "verifying":
            self._runner.verify(operation)

    def _loop(self) -> None:
        self._timer.pop("next", None)
        if self._context.faults.present("service-restart", "fas"):
            return
        running = ""
        for action in [
            candidate for candidate in self._records.actions.values() if candidate["state"] not in (*_ENDED, "new")
        ]:
            running = self._turn(action, running)
        if any(candidate["state"] not in (*_ENDED, "new") for candidate in self._records.actions.values()):
            self.wake()

    def _turn(self, action: Json, running: str) -> str:
        """Advances one action. Returns the id of the action that runs, empty if none does."""
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
        record = self._records.actions.get(action)
        return record is not None and record["state"] not in _ENDED

    def _begin(self, action: Json, running: str) -> str:
        if running:
            self._records.put_action(after(ACTION, action, "block", blockedBy=[*action["blockedBy"], running]))
            return running
        self._records.put_action(after(ACTION, action, "start"))
        self._changed.add(action["actionID"])
        return str(action["actionID"])

    def _run(self, action: Json) -> bool:
        """Advances the operations. Returns whether the action has ended."""
        if action["actionID"] not in self._changed:
            return False
        self._changed.discard(action["actionID"])
        for operation in list(self._records.of_action(action)):
            if operation["state"] == "configured":
                self._runner.start(operation)
            elif operation["state"] == "needsVerified":
                self._runner.verify(operation)
        self._unblock(action)
        if any(operation["state"] not in ENDED_STATES for operation in self._records.of_action(action)):
            return False
        self._records.put_action(after(ACTION, action, "finish", endTime=self._context.clock.now()))
        for xname in {operation["xname"] for operation in self._records.of_action(action)}:
            self._runner.release(xname)
        return True

    def _unblock(self, action: Json) -> None:
        states = {operation["operationID"]: operation["state"] for operation in self._records.of_action(action)}
        for operation in list(self._records.of_action(action)):
            open_blockers = [blocker for blocker in operation["blockedBy"] if states.get(blocker) not in ENDED_STATES]
            if operation["state"] == "blocked" and not open_blockers:
                self._records.put_operation(after(OPERATION, operation, "unblock", stateHelper="unblocked"))

    def _abort(self, action: Json) -> None:
        for operation in list(self._records.of_action(action)):
            if operation["launched"] and operation["state"] in ENDED_STATES:
                self._runner.release(operation["xname"])
                continue
            where = "doVerify" if operation["state"] == "verifying" else "doLaunch"
            launched = f"abort received from quit in {where}"
            helper = launched if operation["launched"] else "abort received from abort loop"
            self._runner.end(operation, "abort", helper, operation["error"])
        self._records.put_action(after(ACTION, action, "abort", endTime=self._context.clock.now()))


def signal_abort(action: Json) -> Json | None:
    """The action with the abort signal; None when it has ended already."""
    return after(ACTION, action, "signalAbort") if can(ACTION, action, "signalAbort") else None
