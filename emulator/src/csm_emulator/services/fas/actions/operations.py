"""One operation, from its start to its end: find the file, reserve the device, send the image, see that it is there.

The real one looks every second; here each step says when the next is due, and waiting for a lock looks every five.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from csm_emulator.context import Context
from csm_emulator.machine.power import ControllerUnreachable, ResetRefused
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.records import Records
from csm_emulator.services.fas.actions.states import OPERATION, OVER, after
from csm_emulator.services.fas.devices import CRAY, GIGABYTE, HPE, Spot
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.hsm_client import Hsm
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL

SECOND, LOCK_AGAIN = 1.0, 5.0
WORK = 0.1
"""Seconds that a step takes at most: requests to the device and to HSM."""
SETTLE = 120.0
"""How long FAS waits before it looks at a device that restarts by itself (``defaultTimeToWait``)."""
POLL = 30
SENT_TO = (CRAY, GIGABYTE, HPE)
NO_WAY_BACK = "cannot perform the update as the override was not enabled and there is no image to go back to."
UPDATE_PATHS = {
    CRAY: "/redfish/v1/UpdateService/Actions/SimpleUpdate",
    GIGABYTE: "/redfish/v1/UpdateService/Actions/SimpleUpdate",
    HPE: "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate",
}
Next = tuple[float, str] | None
"""Seconds until the next step, and which; None when the operation waits for nobody."""


class Launching:
    def __init__(self, context: Context, records: Records, images: Images, firmware: Firmware, hsm: Hsm) -> None:
        self._context = context
        self._records = records
        self._images = images
        self._firmware = firmware
        self._hsm = hsm
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
        begun = after(OPERATION, operation, event, stateHelper=f"preparing to {helper}", error="", launched=True)
        self._enter(begun, SECOND, "file")

    def verify(self, operation: Json) -> None:
        again = operation["state"] == "verifying"
        helper = "preparing to re-attempt verifying" if again else "verifying potential success"
        begun = after(OPERATION, operation, "reverifying" if again else "verifying", stateHelper=helper, error="")
        image = self._images.find(operation["toImageID"]) or {}
        if image.get("needManualReboot"):
            self._enter(begun, image["waitTimeBeforeManualRebootSeconds"] or SECOND, "reboot")
        else:
            self._enter(begun, SETTLE, "settled")

    def end(self, operation: Json, event: str, helper: str, error: str = "") -> None:
        """Over, and the device is free again."""
        ended = {"stateHelper": helper, "error": error, "endTime": self._context.clock.now()}
        self._records.put_operation(after(OPERATION, operation, event, turn=operation["turn"] + 1, **ended))
        self._hsm.release(operation["xname"])

    def release(self, xname: str) -> None:
        self._hsm.release(xname)

    def _enter(self, operation: Json, seconds: float, step: str) -> None:
        """Launching and verifying have each the whole of the time limit."""
        expires, began = operation["expirationTime"], operation["startTime"]
        deadline = None if expires is None else self._context.clock.now() + expires - began
        entered = {**operation, "deadline": deadline, "turn": operation["turn"] + 1}
        self._records.put_operation(entered)
        self._due(entered, seconds, step)

    def _due(self, operation: Json, seconds: float, step: str) -> None:
        """Nothing is looked at more often than once a second, whatever an image says."""
        now, deadline = self._context.clock.now(), operation["deadline"]
        work = self._context.random.between(0.0, WORK, "fas.step", operation["operationID"], step, now)
        moment = now + max(SECOND, seconds) + work
        if deadline is not None and deadline < moment:
            moment = max(deadline, now)
        self._context.scheduler.at(moment, "fas.step", operation["operationID"], operation["turn"], step)

    def _step(self, operation_id: str, turn: int, step: str) -> None:
        operation = self._records.operations.get(operation_id)
        if operation is None or operation["turn"] != turn or operation["state"] in OVER:
            return
        if self._context.faults.present("service-restart", "fas"):
            return
        if operation["deadline"] is not None and operation["deadline"] <= self._context.clock.now():
            self._expire(operation)
            return
        image = self._images.find(operation["toImageID"])
        following = self._steps[step](operation, image) if image else self._no_image(operation)
        if following is not None:
            self._due(self._records.operations[operation_id], *following)

    def _expire(self, operation: Json) -> None:
        what = "verify" if operation["state"] == "verifying" else "complete update"
        expired = {"stateHelper": f"time expired; could not {what}", "turn": operation["turn"] + 1}
        self._records.put_operation(after(OPERATION, operation, "fail", **expired))
        self._hsm.release(operation["xname"])

    def _no_image(self, operation: Json) -> Next:
        error = f"Key /images/{operation['toImageID']} does not exist"
        self.end(operation, "fail", "could not find the image", error)
        return None

    def _say(self, operation: Json, helper: str) -> None:
        self._records.put_operation({**operation, "stateHelper": helper, "error": ""})

    def _command(self, operation: Json) -> Json:
        return self._records.actions[operation["actionID"]]["command"]

    def _file(self, operation: Json, image: Json) -> Next:
        """The store is not looked at: a file that a record names is taken to be there."""
        self._say(operation, "found file")
        if self._command(operation)["overrideDryrun"]:
            return SECOND, "lock"
        return (image["pollingSpeedSeconds"] if image["allowableDeviceStates"] else SECOND), "power"

    def _lock(self, operation: Json, image: Json) -> Next:
        if not self._hsm.reserve(operation["xname"]):
            self._say(operation, "failed to lock, trying again soon")
            return LOCK_AGAIN, "lock"
        self._say(operation, "got lock")
        return (image["pollingSpeedSeconds"] if image["allowableDeviceStates"] else SECOND), "power"

    def _power(self, operation: Json, image: Json) -> Next:
        """The power of every device is taken to be On (``getPowerState``)."""
        states = [state.lower() for state in image["allowableDeviceStates"] or ()]
        if states and "on" not in states:
            self._say(operation, "reboot not satisfied, powerstate: On")
            return image["pollingSpeedSeconds"] or SECOND, "power"
        if states:
            self._say(operation, "power state satisfied: On")
        return SECOND, "update"

    def _update(self, operation: Json, image: Json) -> Next:
        command = self._command(operation)
        if operation["fromImageID"] == NIL and not command["restoreNotPossibleOverride"]:
            self.end(operation, "nosol", NO_WAY_BACK)
        elif not command["overrideDryrun"]:
            helper = f"dry run completed: Updated Image: {image['firmwareVersion']}"
            ended = {"stateHelper": helper, "endTime": self._context.clock.now(), "error": ""}
            self._records.put_operation(after(OPERATION, operation, "success", **ended))
        else:
            self._send(operation, image)
        return None

    def _send(self, operation: Json, image: Json) -> None:
        maker = operation["manufacturer"] or image["manufacturer"].lower()
        spot = self._firmware.spot(operation["xname"], operation["target"])
        if maker not in SENT_TO or spot is None:
            self._refused(operation, 400, "unsupported manufacturer")
        elif not self._firmware.reachable(operation["xname"]):
            url = f"https://{operation['xname']}{UPDATE_PATHS[maker]}"
            self._refused(operation, 500, f'Post "{url}": context deadline exceeded')
        else:
            self._firmware.flash(spot, image["firmwareVersion"], restart_follows=image["needManualReboot"])
            sent = {"stateHelper": "update complete, needs verification", "manufacturer": maker}
            self._records.put_operation(after(OPERATION, operation, "needsVerify", **sent))

    def _refused(self, operation: Json, status: int, error: str) -> None:
        where = "See operation for any error message"
        self.end(operation, "fail", f"failed to update target - status code: {status} - {where}", error)

    def _settled(self, _: Json, image: Json) -> Next:
        return self._polling(image), "poll"

    def _reboot(self, operation: Json, image: Json) -> Next:
        if not self._hsm.reserve(operation["xname"]):
            self._say(operation, "failed to lock for reset, trying again soon")
            return LOCK_AGAIN, "reboot"
        # A device that will not is written down in the log of FAS, and nowhere else.
        with suppress(ResetRefused, ControllerUnreachable):
            self._context.machine.power.reset(operation["xname"], image["forceResetType"], "fas")
        self._say(operation, "reboot command issued")
        return max(image["waitTimeAfterRebootSeconds"], self._polling(image)), "rebooted"

    def _rebooted(self, operation: Json, image: Json) -> Next:
        self._say(operation, "reboot satisfied")
        return self._polling(image), "poll"

    def _polling(self, image: Json) -> float:
        return float(image["pollingSpeedSeconds"] or POLL)

    def _poll(self, operation: Json, image: Json) -> Next:
        again = self._polling(image), "poll"
        spot = self._firmware.spot(operation["xname"], operation["target"])
        self._hsm.renew(operation["xname"])
        if spot is None or not self._firmware.reachable(operation["xname"]):
            return again
        if operation["manufacturer"] in (GIGABYTE, HPE):
            return again if self._under_way(operation, spot) else None
        found = self._firmware.version(spot)
        if found == image["firmwareVersion"]:
            self.end(operation, "success", f"Update Successful to version: {found}")
            return None
        if found != operation["fromFirmwareVersion"]:
            expected = f"Expected {image['firmwareVersion']} got: {found}"
            self.end(operation, "fail", f"unexpected change detected in firmware version. {expected}")
            return None
        self._records.put_operation(operation)
        return again

    def _under_way(self, operation: Json, spot: Spot) -> bool:
        """These tell of their progress, and are done with it before the firmware is in use."""
        gigabyte = operation["manufacturer"] == GIGABYTE
        if self._firmware.flashing(spot):
            told = "Information Returned Flashing 50%" if gigabyte else "Task Returned Running"
            self._say(operation, f"Firmware {'Update ' if gigabyte else ''}{told}")
            return True
        told = "Update Information Returned Completed 100%" if gigabyte else "Task Returned Completed with Status OK"
        helper = f"Firmware {told} -- Reboot of node may be required"
        self._records.put_operation(after(OPERATION, operation, "success", stateHelper=helper))
        return False
