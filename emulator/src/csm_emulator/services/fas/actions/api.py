"""``/actions`` and ``/operations``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.actions.loop import ActionLoop, signal_abort
from csm_emulator.services.fas.actions.planner import ActionPlanner
from csm_emulator.services.fas.actions.records import ActionStore
from csm_emulator.services.fas.actions.states import OPERATION_STATES
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL, RequestFailed, answer, go_time, uuid_from, with_problems
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_KEY = ("operationID", "xname", "target", "targetName", "fromFirmwareVersion", "stateHelper")


class Actions:
    def __init__(self, records: ActionStore, images: Images, planner: ActionPlanner, loop: ActionLoop) -> None:
        self._records = records
        self._images = images
        self._planner = planner
        self._loop = loop

    def routes(self) -> list[Route]:
        one = "/actions/{actionID}"
        return [
            Route("GET", "/actions", self.list_all),
            Route("POST", "/actions", with_problems(self.create)),
            Route("GET", one, with_problems(self.get)),
            Route("DELETE", one, with_problems(self.delete)),
            Route("DELETE", one + "/instance", with_problems(self.abort)),
            Route("GET", one + "/operations/{operationID}", with_problems(self.get_operation)),
            Route("GET", "/operations/{operationID}", with_problems(self.get_operation)),
            Route("GET", one + "/operations", with_problems(self.get_operations)),
            Route("GET", one + "/status", with_problems(self.status)),
        ]

    def create(self, call: Call) -> Reply:
        parameters = bodies.read_action(call.body)
        self._check(parameters)
        return accepted(self._planner.begin(parameters), parameters["command"])

    def _check(self, parameters: Json) -> None:
        check_components(parameters["stateComponentFilter"])
        command, image = parameters["command"], parameters["imageFilter"]["imageID"]
        if image != NIL:
            self._images.expect(image, 400)
            command["version"] = "explicit"
        command["version"] = command["version"] or "latest"
        command["tag"] = command["tag"] or "default"
        if command["version"] not in ("earliest", "latest", "explicit"):
            raise RequestFailed(400, "version must be 'earliest' or 'latest'; or you must supply an ImageID")

    def list_all(self, _: Call) -> Reply:
        summaries = [self._summary(self._records.actions[action]) for action in sorted(self._records.actions)]
        return answer({"actions": summaries})

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
        """As in FAS, the operation need not belong to the action in the path."""
        if "actionID" in call.args:
            self._records.expect_action(uuid_from(call, "actionID"))
        operation = self._records.expect_operation(uuid_from(call, "operationID"))
        view = _show_operation(operation)
        from_image, to_image = (self._images.find(operation[name]) for name in ("fromImageID", "toImageID"))
        if to_image:
            view["toFirmwareVersion"] = to_image["firmwareVersion"]
            view["toSemanticFirmwareVersion"] = to_image["semanticFirmwareVersion"]
        if from_image:
            view["fromSemanticFirmwareVersion"] = from_image["semanticFirmwareVersion"]
        return answer(view)

    def delete(self, call: Call) -> Reply:
        action = self._records.expect_action(uuid_from(call, "actionID"))
        if action["state"] in ("abortSignaled", "running"):
            raise RequestFailed(400, "cannot delete a currently running action")
        for operation in action["operationIDs"]:
            self._records.operations.pop(operation, None)
        del self._records.actions[action["actionID"]]
        return Reply(204)

    def abort(self, call: Call) -> Reply:
        signaled = signal_abort(self._records.expect_action(uuid_from(call, "actionID")))
        if signaled is None:
            return Reply(200)
        self._records.put_action(signaled)
        self._loop.wake()
        return Reply(202)

    def _summary(self, action: Json) -> Json:
        operations = list(self._records.of_action(action))
        counts = {"total": len(operations)} | dict.fromkeys(_COUNTED_STATES, 0)
        for operation in operations:
            counts[operation["state"]] += 1
        return _show(action, parameters=False, name="operationCounts", value=counts)

    def _show_with_images(self, operation: Json) -> Json:
        view = _show_operation(operation)
        for side in ("from", "to"):
            image = self._images.find(operation[f"{side}ImageID"])
            if image:
                view[f"{side}ImageURL"] = image["tftpURL"] or image["s3URL"]
                view[f"{side}SemanticFirmwareVersion"] = image["semanticFirmwareVersion"]
        to_image = self._images.find(operation["toImageID"])
        return view | {"toFirmwareVersion": to_image["firmwareVersion"] if to_image else ""}


# The order of the counts in replies, which differs from that of the lists.
_COUNTED_STATES = (
    "initial",
    "configured",
    "blocked",
    "needsVerified",
    "verifying",
    "inProgress",
    *OPERATION_STATES[6:],
)


def accepted(action: str, command: Json) -> Reply:
    body = {"actionID": action, "overrideDryrun": command["overrideDryrun"]}
    return answer(body, 202, [("Location", f"../actions/{action}")])


def check_components(component_filter: Json) -> None:
    names = component_filter["xnames"] or []
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    invalid = [name for index, name in enumerate(names) if first[name] != index or not hms_type(name)]
    if invalid:
        raise RequestFailed(400, f"invalid/duplicate xnames: [{' '.join(invalid)}]")
    if len(component_filter["groups"] or ()) > 1 and len(component_filter["partitions"] or ()) > 1:
        raise RequestFailed(400, "illegal, may not have both paritions and groups count > 1")


def _show(action: Json, *, parameters: bool, name: str, value: Json) -> Json:
    view: dict[str, Json] = {
        "actionID": action["actionID"],
        "snapshotID": action["snapshotID"],
        "command": bodies.show_command(action["command"]),
        "startTime": go_time(action["startTime"]),
    }
    if action["endTime"] is not None:
        view["endTime"] = go_time(action["endTime"])
    view["state"] = action["state"]
    if parameters:
        view["parameters"] = bodies.show_parameters(action["parameters"])
    return view | {name: value, "blockedBy": action["blockedBy"], "errors": action["errors"]}


def _grouped(operations: Iterable[Json], show: Callable[[Json], Json]) -> Json:
    groups: dict[str, Json] = {state: {"operationKeys": []} for state in OPERATION_STATES}
    for operation in operations:
        groups[operation["state"]]["operationKeys"].append(show(operation))
    return groups


def _show_key(operation: Json) -> Json:
    view = {name: operation[name] for name in _KEY}
    return view | ({"error": operation["error"]} if operation["error"] else {})


def _show_operation(operation: Json) -> Json:
    view = {name: operation[name] for name in ("operationID", "actionID", "state", "stateHelper")}
    view["startTime"] = go_time(operation["startTime"])
    if operation["endTime"] is not None:
        view["endTime"] = go_time(operation["endTime"])
    view |= {name: go_time(operation[name]) for name in ("refreshTime", "expirationTime")}
    view |= {name: operation[name] for name in ("xname", "deviceType", "target", "targetName", "manufacturer")}
    view |= {"model": operation["model"], "softwareId": operation["softwareId"]}
    for side, version in (("from", operation["fromFirmwareVersion"]), ("to", "")):
        view |= {
            f"{side}ImageID": operation[f"{side}ImageID"],
            f"{side}SemanticFirmwareVersion": "",
            f"{side}FirmwareVersion": version,
            f"{side}ImageURL": "",
            f"{side}Tag": "",
        }
    return view | {"blockedBy": operation["blockedBy"], "error": operation["error"]}
