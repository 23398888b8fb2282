"""Actions and their operations, on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.actions.loop import Control, signal_abort
from csm_emulator.services.fas.actions.planner import Planning
from csm_emulator.services.fas.actions.records import Records
from csm_emulator.services.fas.actions.states import OPERATION_STATES
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL, Failed, answer, answering, go_time, uuid_from
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_KEY = ("operationID", "xname", "target", "targetName", "fromFirmwareVersion", "stateHelper")


class Actions:
    def __init__(self, records: Records, images: Images, planning: Planning, control: Control) -> None:
        self._records = records
        self._images = images
        self._planning = planning
        self._control = control

    def routes(self) -> list[Route]:
        one = "/actions/{actionID}"
        return [
            Route("GET", "/actions", self.list_all),
            Route("POST", "/actions", answering(self.create)),
            Route("GET", one, answering(self.get)),
            Route("DELETE", one, answering(self.delete)),
            Route("DELETE", one + "/instance", answering(self.abort)),
            Route("GET", one + "/operations/{operationID}", answering(self.get_operation)),
            Route("GET", "/operations/{operationID}", answering(self.get_operation)),
            Route("GET", one + "/operations", answering(self.get_operations)),
            Route("GET", one + "/status", answering(self.status)),
        ]

    def create(self, call: Call) -> Reply:
        parameters = bodies.read_action(call.body)
        self._check(parameters)
        return accepted(self._planning.begin(parameters), parameters["command"])

    def _check(self, parameters: Json) -> None:
        check_components(parameters["stateComponentFilter"])
        command, image = parameters["command"], parameters["imageFilter"]["imageID"]
        if image != NIL:
            self._images.expect(image, 400)
            command["version"] = "explicit"
        command["version"] = command["version"] or "latest"
        command["tag"] = command["tag"] or "default"
        if command["version"] not in ("earliest", "latest", "explicit"):
            raise Failed(400, "version must be 'earliest' or 'latest'; or you must supply an ImageID")

    def list_all(self, _: Call) -> Reply:
        shown = [self._summary(self._records.actions[action]) for action in sorted(self._records.actions)]
        return answer({"actions": shown})

    def status(self, call: Call) -> Reply:
        return answer(self._summary(self._records.expect_action(uuid_from(call, "actionID"))))

    def get(self, call: Call) -> Reply:
        action = self._records.expect_action(uuid_from(call, "actionID"))
        grouped = _grouped(self._records.of_action(action), _show_key)
        return answer(_show(action, parameters=True, name="operationSummary", value=grouped))

    def get_operations(self, call: Call) -> Reply:
        action = self._records.expect_action(uuid_from(call, "actionID"))
        grouped = _grouped(self._records.of_action(action), self._show_with_images)
        return answer(_show(action, parameters=True, name="operationDetails", value=grouped))

    def get_operation(self, call: Call) -> Reply:
        """That it belongs to the action is not asked for."""
        if "actionID" in call.args:
            self._records.expect_action(uuid_from(call, "actionID"))
        operation = self._records.expect_operation(uuid_from(call, "operationID"))
        shown = _show_operation(operation)
        before, to = (self._images.find(operation[name]) for name in ("fromImageID", "toImageID"))
        if to:
            shown["toFirmwareVersion"] = to["firmwareVersion"]
            shown["toSemanticFirmwareVersion"] = to["semanticFirmwareVersion"]
        if before:
            shown["fromSemanticFirmwareVersion"] = before["semanticFirmwareVersion"]
        return answer(shown)

    def delete(self, call: Call) -> Reply:
        action = self._records.expect_action(uuid_from(call, "actionID"))
        if action["state"] in ("abortSignaled", "running"):
            raise Failed(400, "cannot delete a currently running action")
        for operation in action["operationIDs"]:
            self._records.operations.pop(operation, None)
        del self._records.actions[action["actionID"]]
        return Reply(204)

    def abort(self, call: Call) -> Reply:
        signaled = signal_abort(self._records.expect_action(uuid_from(call, "actionID")))
        if signaled is None:
            return Reply(200)
        self._records.put_action(signaled)
        self._control.wake()
        return Reply(202)

    def _summary(self, action: Json) -> Json:
        operations = list(self._records.of_action(action))
        counts = {"total": len(operations)} | dict.fromkeys(_COUNTED, 0)
        for operation in operations:
            counts[operation["state"]] += 1
        return _show(action, parameters=False, name="operationCounts", value=counts)

    def _show_with_images(self, operation: Json) -> Json:
        shown = _show_operation(operation)
        for side in ("from", "to"):
            image = self._images.find(operation[f"{side}ImageID"])
            if image:
                shown[f"{side}ImageURL"] = image["tftpURL"] or image["s3URL"]
                shown[f"{side}SemanticFirmwareVersion"] = image["semanticFirmwareVersion"]
        to = self._images.find(operation["toImageID"])
        return shown | {"toFirmwareVersion": to["firmwareVersion"] if to else ""}


# In this order the counts stand, another than that of the lists.
_COUNTED = ("initial", "configured", "blocked", "needsVerified", "verifying", "inProgress", *OPERATION_STATES[6:])


def accepted(action: str, command: Json) -> Reply:
    body = {"actionID": action, "overrideDryrun": command["overrideDryrun"]}
    return answer(body, 202, [("Location", f"../actions/{action}")])


def check_components(wanted: Json) -> None:
    names = wanted["xnames"] or []
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    bad = [name for place, name in enumerate(names) if first[name] != place or not hms_type(name)]
    if bad:
        raise Failed(400, f"invalid/duplicate xnames: [{' '.join(bad)}]")
    if len(wanted["groups"] or ()) > 1 and len(wanted["partitions"] or ()) > 1:
        raise Failed(400, "illegal, may not have both paritions and groups count > 1")


def _show(action: Json, *, parameters: bool, name: str, value: Json) -> Json:
    shown: dict[str, Json] = {
        "actionID": action["actionID"],
        "snapshotID": action["snapshotID"],
        "command": bodies.show_command(action["command"]),
        "startTime": go_time(action["startTime"]),
    }
    if action["endTime"] is not None:
        shown["endTime"] = go_time(action["endTime"])
    shown["state"] = action["state"]
    if parameters:
        shown["parameters"] = bodies.show_parameters(action["parameters"])
    return shown | {name: value, "blockedBy": action["blockedBy"], "errors": action["errors"]}


def _grouped(operations: Iterable[Json], show: Callable[[Json], Json]) -> Json:
    groups: dict[str, Json] = {state: {"operationKeys": []} for state in OPERATION_STATES}
    for operation in operations:
        groups[operation["state"]]["operationKeys"].append(show(operation))
    return groups


def _show_key(operation: Json) -> Json:
    shown = {name: operation[name] for name in _KEY}
    return shown | ({"error": operation["error"]} if operation["error"] else {})


def _show_operation(operation: Json) -> Json:
    shown = {name: operation[name] for name in ("operationID", "actionID", "state", "stateHelper")}
    shown["startTime"] = go_time(operation["startTime"])
    if operation["endTime"] is not None:
        shown["endTime"] = go_time(operation["endTime"])
    shown |= {name: go_time(operation[name]) for name in ("refreshTime", "expirationTime")}
    shown |= {name: operation[name] for name in ("xname", "deviceType", "target", "targetName", "manufacturer")}
    shown |= {"model": operation["model"], "softwareId": operation["softwareId"]}
    for side, version in (("from", operation["fromFirmwareVersion"]), ("to", "")):
        shown |= {
            f"{side}ImageID": operation[f"{side}ImageID"],
            f"{side}SemanticFirmwareVersion": "",
            f"{side}FirmwareVersion": version,
            f"{side}ImageURL": "",
            f"{side}Tag": "",
        }
    return shown | {"blockedBy": operation["blockedBy"], "error": operation["error"]}
