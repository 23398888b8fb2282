"""Runs one operation: finds the file, reserves the device, sends the image, and verifies the installed version.

The real FAS checks every second. Here each step returns when the next one is due, and a reservation is retried every
five seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from csm_emulator.context import Context
from csm_emulator.machine.power import ControllerUnreachable, ResetRefused
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.records import ActionStore
from csm_emulator.services.fas.actions.states import ENDED_STATES, OPERATION, after
from csm_emulator.services.fas.controllers import Controllers
from csm_emulator.services.fas.devices import CRAY, GIGABYTE, HPE, FirmwareItem
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL

STEP_INTERVAL, LOCK_RETRY = 1.0, 5.0
MAX_STEP_WORK = 0.1
"""The most seconds that the requests of a step to the device and to HSM take."""
RESTART_WAIT = 120.0
"""Seconds that FAS waits for a device that restarts by itself (``defaultTimeToWait``)."""
DEFAULT_POLL_INTERVAL = 30
SUPPORTED_MANUFACTURERS = (CRAY, GIGABYTE, HPE)
NO_RESTORE_IMAGE = "cannot perform the update as the override was not enabled and there is no image to go back to."
UPDATE_PATHS = {
    CRAY: "/redfish/v1/UpdateService/Actions/SimpleUpdate",
    GIGABYTE: "/redfish/v1/UpdateService/Actions/SimpleUpdate",
    HPE: "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate",
}
Next = tuple[float, str] | None
"""Seconds until the next step, and its name; None when the operation has no further step by itself."""


class OperationRunner:
    def __init__(
        self, context: Context, records: ActionStore, images: Images, firmware: Firmware, controllers: Controllers
    ) -> None:
        self._context = context
        self._records = records
        self._images = images
        self._firmware = firmware
        self._controllers = controllers
        self._steps: dict[str, Callable[[Json, Json], Next]] = {
            "file": self._file,
            "lock": self._lock,
            "power": self._power,
            "update": self._update,
            "settled": self._settled,
            "reboot": self._reboot,
            "rebooted": self._rebooted,
            "poll": self._poll,
        }
        context.scheduler.register("fas.step", self._step)

    def start(self, operation: Json) -> None:
        event, helper = ("start", "launch") if operation["state"] == "configured" else ("restart", "re-launch")
        started = after(OPERATION, operation, event, stateHelper=f"preparing to {helper}", error="", launched=True)
        self._enter(started, STEP_INTERVAL, "file")

    def verify(self, operation: Json) -> None:
        is_repeated = operation["state"] == "verifying"
        helper = "preparing to re-attempt verifying" if is_repeated else "verifying potential success"
        started = after(
            OPERATION, operation, "reverifying" if is_repeated else "verifying", stateHelper=helper, error=""
        )
        image = self._images.find(operation["toImageID"]) or {}
        if image.get("needManualReboot"):
            self._enter(started, image["waitTimeBeforeManualRebootSeconds"] or STEP_INTERVAL, "reboot")
        else:
            self._enter(started, RESTART_WAIT, "settled")

    def end(self, operation: Json, event: str, helper: str, error: str = "") -> None:
        """Ends the operation and releases the device."""
        ended = {"stateHelper": helper, "error": error, "endTime": self._context.clock.now()}
        self._records.put_operation(after(OPERATION, operation, event, turn=operation["turn"] + 1, **ended))
        self._controllers.release(operation["xname"])

    def release(self, xname: str) -> None:
        self._controllers.release(xname)

    def _enter(self, operation: Json, seconds: float, step: str) -> None:
        """Begins a phase: launching and verifying each have the full time limit."""
        expires, began = operation["expirationTime"], operation["startTime"]
        deadline = None if expires is None else self._context.clock.now() + expires - began
        entered = {**operation, "deadline": deadline, "turn": operation["turn"] + 1}
        self._records.put_operation(entered)
        self._schedule(entered, seconds, step)

    def _schedule(self, operation: Json, seconds: float, step: str) -> None:
        """Schedules a step: after one second at least, whatever the polling speed of the image is."""
        now, deadline = self._context.clock.now(), operation["deadline"]
        work = self._context.random.between(0.0, MAX_STEP_WORK, "fas.step", operation["operationID"], step, now)
        moment = now + max(STEP_INTERVAL, seconds) + work
        if deadline is not None and deadline < moment:
            moment = max(deadline, now)
        self._context.scheduler.at(moment, "fas.step", operation["operationID"], operation["turn"], step)

    def _step(self, operation_id: str, turn: int, step: str) -> None:
        operation = self._records.operations.get(operation_id)
        if operation is None or operation["turn"] != turn or operation["state"] in ENDED_STATES:
            return
        if self._context.faults.present("service-restart", "fas"):
            return
        if operation["deadline"] is not None and operation["deadline"] <= self._context.clock.now():
            self._expire(operation)
            return
        image = self._images.find(operation["toImageID"])
        following = self._steps[step](operation, image) if image else self._no_image(operation)
        if following is not None:
            self._schedule(self._records.operations[operation_id], *following)

    def _expire(self, operation: Json) -> None:
        activity = "verify" if operation["state"] == "verifying" else "complete update"
        expired = {"stateHelper": f"time expired; could not {activity}", "turn": operation["turn"] + 1}
        self._records.put_operation(after(OPERATION, operation, "fail", **expired))
        self._controllers.release(operation["xname"])

    def _no_image(self, operation: Json) -> Next:
        error = f"Key /images/{operation['toImageID']} does not exist"
        self.end(operation, "fail", "could not find the image", error)
        return None

    def _set_helper(self, operation: Json, helper: str) -> None:
        self._records.put_operation({**operation, "stateHelper": helper, "error": ""})

    def _command(self, operation: Json) -> Json:
        return self._records.actions[operation["actionID"]]["command"]

    def _file(self, operation: Json, image: Json) -> Next:
        """The file is assumed to exist: S3 is not asked."""
        self._set_helper(operation, "found file")
        if self._command(operation)["overrideDryrun"]:
            return STEP_INTERVAL, "lock"
        return (image["pollingSpeedSeconds"] if image["allowableDeviceStates"] else STEP_INTERVAL), "power"

    def _lock(self, operation: Json, image: Json) -> Next:
        if not self._controllers.reserve(operation["xname"]):
            self._set_helper(operation, "failed to lock, trying again soon")
            return LOCK_RETRY, "lock"
        self._set_helper(operation, "got lock")
        return (image["pollingSpeedSeconds"] if image["allowableDeviceStates"] else STEP_INTERVAL), "power"

    def _power(self, operation: Json, image: Json) -> Next:
        """As in FAS, every device counts as On (``getPowerState``)."""
        states = [state.lower() for state in image["allowableDeviceStates"] or ()]
        if states and "on" not in states:
            self._set_helper(operation, "reboot not satisfied, powerstate: On")
            return image["pollingSpeedSeconds"] or STEP_INTERVAL, "power"
        if states:
            self._set_helper(operation, "power state satisfied: On")
        return STEP_INTERVAL, "update"

    def _update(self, operation: Json, image: Json) -> Next:
        command = self._command(operation)
        if operation["fromImageID"] == NIL and not command["restoreNotPossibleOverride"]:
            self.end(operation, "nosol", NO_RESTORE_IMAGE)
        elif not command["overrideDryrun"]:
            helper = f"dry run completed: Updated Image: {image['firmwareVersion']}"
            ended = {"stateHelper": helper, "endTime": self._context.clock.now(), "error": ""}
            self._records.put_operation(after(OPERATION, operation, "success", **ended))
        else:
            self._send(operation, image)
        return None

    def _send(self, operation: Json, image: Json) -> None:
        maker = operation["manufacturer"] or image["manufacturer"].lower()
        item = self._firmware.item(operation["xname"], operation["target"])
        if maker not in SUPPORTED_MANUFACTURERS or item is None:
            self._fail_update(operation, 400, "unsupported manufacturer")
        elif not self._firmware.reachable(operation["xname"]):
            url = f"https://{operation['xname']}{UPDATE_PATHS[maker]}"
            self._fail_update(operation, 500, f'Post "{url}": context deadline exceeded')
        else:
            self._firmware.flash(item, image["firmwareVersion"], restart_follows=image["needManualReboot"])
            changes = {"stateHelper": "update complete, needs verification", "manufacturer": maker}
            self._records.put_operation(after(OPERATION, operation, "needsVerify", **changes))

    def _fail_update(self, operation: Json, status: int, error: str) -> None:
        hint = "See operation for any error message"
        self.end(operation, "fail", f"failed to update target - status code: {status} - {hint}", error)

    def _settled(self, _: Json, image: Json) -> Next:
        return self._poll_interval(image), "poll"

    def _reboot(self, operation: Json, image: Json) -> Next:
        if not self._controllers.reserve(operation["xname"]):
            self._set_helper(operation, "failed to lock for reset, trying again soon")
            return LOCK_RETRY, "reboot"
        # FAS only logs a device that refuses or does not answer.
        with suppress(ResetRefused, ControllerUnreachable):
            self._context.machine.power.reset(operation["xname"], image["forceResetType"], "fas")
        self._set_helper(operation, "reboot command issued")
        return max(image["waitTimeAfterRebootSeconds"], self._poll_interval(image)), "rebooted"

    def _rebooted(self, operation: Json, image: Json) -> Next:
        self._set_helper(operation, "reboot satisfied")
        return self._poll_interval(image), "poll"

    def _poll_interval(self, image: Json) -> float:
        return float(image["pollingSpeedSeconds"] or DEFAULT_POLL_INTERVAL)

    def _poll(self, operation: Json, image: Json) -> Next:
        next_poll = self._poll_interval(image), "poll"
        item = self._firmware.item(operation["xname"], operation["target"])
        self._controllers.renew(operation["xname"])
        if item is None or not self._firmware.reachable(operation["xname"]):
            return next_poll
        if operation["manufacturer"] in (GIGABYTE, HPE):
            return next_poll if self._is_in_progress(operation, item) else None
        version = self._firmware.version(item)
        if version == image["firmwareVersion"]:
            self.end(operation, "success", f"Update Successful to version: {version}")
            return None
        if version != operation["fromFirmwareVersion"]:
            expected = f"Expected {image['firmwareVersion']} got: {version}"
            self.end(operation, "fail", f"unexpected change detected in firmware version. {expected}")
            return None
        self._records.put_operation(operation)
        return next_poll

    def _is_in_progress(self, operation: Json, item: FirmwareItem) -> bool:
        """Gigabyte and HPE report progress; the update counts as done before the device runs the new firmware."""
        is_gigabyte = operation["manufacturer"] == GIGABYTE
        if self._firmware.flashing(item):
            progress = "Information Returned Flashing 50%" if is_gigabyte else "Task Returned Running"
            self._set_helper(operation, f"Firmware {'Update ' if is_gigabyte else ''}{progress}")
            return True
        progress = (
            "Update Information Returned Completed 100%" if is_gigabyte else "Task Returned Completed with Status OK"
        )
        helper = f"Firmware {progress} -- Reboot of node may be required"
        self._records.put_operation(after(OPERATION, operation, "success", stateHelper=helper))
        return False
