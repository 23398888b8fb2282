"""Plans actions: the operations for a request, each with a device, a firmware item of it, and an image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.records import ActionStore
from csm_emulator.services.fas.actions.states import ACTION, OPERATION, after, can
from csm_emulator.services.fas.controllers import DISCOVERED, Controller, Controllers
from csm_emulator.services.fas.devices import FirmwareItem
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.images import versions
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL

PLANNING_TIME = 4.0
"""Seconds that FAS's requests to HSM and the devices take."""
NO_TARGETS = "No Viable Targets"
DiscoveredFirmware = tuple[FirmwareItem, Controller]


class FirmwareSurvey:
    """Finds the firmware items that an action or a snapshot is about."""

    def __init__(self, controllers: Controllers, firmware: Firmware) -> None:
        self._controllers = controllers
        self._firmware = firmware

    def look(self, parameters: Json) -> tuple[list[DiscoveredFirmware], list[str]]:
        devices, errors = self._controllers.matching(parameters["stateComponentFilter"])
        firmware: list[DiscoveredFirmware] = []
        for device in devices.values():
            if not self._firmware.reachable(device.xname):
                errors.append(f"Error retrieving data from {device.xname}")
                continue
            firmware += [
                (item, device)
                for item in self._firmware.devices.firmware_items(device.xname)
                if _matches(item, parameters)
            ]
        undiscovered = [device for _, device in firmware if device.discovery_status != DISCOVERED]
        errors += [f"{device.xname} discovery status: {device.discovery_status}" for device in undiscovered]
        if len(undiscovered) == len(firmware):
            errors.append(NO_TARGETS)
        return firmware, list(dict.fromkeys(errors))


class ImageChoice:
    """The images that fit an operation, computed once for each kind of device."""

    def __init__(self, images: dict[str, Json]) -> None:
        self.all = images
        self._known: dict[tuple[str, ...], dict[str, Json]] = {}

    def fitting(self, operation: Json) -> dict[str, Json]:
        kind = tuple(operation[name] for name in ("target", "targetName", "model", "manufacturer", "deviceType"))
        if kind not in self._known:
            self._known[kind] = {key: image for key, image in self.all.items() if _applies(image, operation)}
        return self._known[kind]


class ActionPlanner:
    def __init__(
        self, context: Context, records: ActionStore, images: Images, survey: FirmwareSurvey, firmware: Firmware
    ) -> None:
        self._context = context
        self._records = records
        self._images = images
        self._survey = survey
        self._firmware = firmware
        self.ready: Callable[[], None] = lambda: None
        """Called when an action can be run."""
        context.scheduler.register("fas.plan", self._plan)
        context.scheduler.register("fas.restore", self._restore)

    def begin(self, parameters: Json) -> str:
        action = self._records.new_action(parameters)
        self._context.scheduler.after(PLANNING_TIME, "fas.plan", action)
        return action

    def begin_restore(self, parameters: Json, devices: Json, expires: float | None) -> str:
        action = self._records.new_action(parameters)
        self._context.scheduler.after(PLANNING_TIME, "fas.restore", action, devices, expires)
        return action

    def _plan(self, action_id: str) -> None:
        action = self._records.actions.get(action_id)
        if action is None:
            return
        parameters = action["parameters"]
        firmware, errors = self._survey.look(parameters)
        images = ImageChoice(self._images.all())
        operations = []
        for item, device in firmware:
            image_id = _requested_image(item, parameters, images.all)
            if image_id is not None:
                operation = self._operation(action, item, device, image_id)
                operations.append(self._decide(operation, item, parameters["command"], images))
        self._store({**action, "errors": errors}, operations)

    def _restore(self, action_id: str, devices: Json, expires: float | None) -> None:
        action = self._records.actions.get(action_id)
        if action is None:
            return
        images, operations = ImageChoice(self._images.all()), []
        component_filter = {
            **action["parameters"]["stateComponentFilter"],
            "xnames": [device["xname"] for device in devices],
        }
        for device in devices:
            for target in device["targets"] or ():
                item = self._firmware.item(device["xname"], target["name"])
                if item is not None:
                    operation = self._operation(action, item, Controller(item.bmc, DISCOVERED), target["imageID"])
                    operation |= {"expirationTime": expires, "deviceType": ""}
                    operations.append(self._decide(operation, item, action["command"], images))
        parameters = {**action["parameters"], "stateComponentFilter": component_filter}
        self._store({**action, "parameters": parameters}, operations)

    def _operation(self, action: Json, item: FirmwareItem, device: Controller, image_id: str) -> Json:
        limit, now = action["command"]["timeLimit"], self._context.clock.now()
        discovered = device.discovery_status == DISCOVERED
        return self._records.new_operation(
            action["actionID"],
            xname=item.bmc,
            target=item.target,
            targetName=item.name,
            manufacturer=item.manufacturer,
            model=item.model,
            deviceType=item.device_type,
            toImageID=image_id,
            expirationTime=now + limit if limit > 0 else None,
            fromFirmwareVersion=self._firmware.version(item) if discovered else "",
            error="" if discovered else f"{device.xname} discovery status: {device.discovery_status}",
        )

    def _decide(self, operation: Json, item: FirmwareItem, command: Json, images: ImageChoice) -> Json:
        ended = {"endTime": self._context.clock.now()}
        if operation["error"]:
            return after(OPERATION, operation, "fail", stateHelper="ERROR Found See Operation Details", **ended)
        fitting = images.fitting(operation)
        same = [key for key, image in fitting.items() if image["firmwareVersion"] == self._firmware.version(item)]
        from_image = same[-1] if same else NIL
        to_image = _chosen(fitting, command) if command["version"] != "explicit" else operation["toImageID"]
        operation = {**operation, "fromImageID": from_image, "toImageID": to_image}
        if to_image == NIL:
            return after(OPERATION, operation, "nosol", stateHelper="No Image available", **ended)
        if to_image == from_image and not command["overwriteSameImage"]:
            return after(OPERATION, operation, "noop", stateHelper="Firmware at requested version", **ended)
        return after(OPERATION, operation, "configure")

    def _store(self, action: Json, operations: list[Json]) -> None:
        if not operations:
            self._records.put_action(after(ACTION, action, "finish", endTime=self._context.clock.now()))
            return
        for operation in _in_sequence(operations):
            self._records.put_operation(operation)
        planned = {**action, "operationIDs": [operation["operationID"] for operation in operations]}
        # An action that was aborted in the meantime stays aborted.
        self._records.put_action(after(ACTION, planned, "configure") if can(ACTION, planned, "configure") else planned)
        self.ready()


def _in_sequence(operations: Iterable[Json]) -> Iterator[Json]:
    """The first operation of a device starts, and all others of that device are blocked by it."""
    first: dict[str, str] = {}
    for operation in operations:
        if operation["state"] != "configured":
            yield operation
        elif operation["xname"] in first:
            changes = {"blockedBy": [first[operation["xname"]]], "stateHelper": "blocked by sibling"}
            yield after(OPERATION, operation, "block", **changes)
        else:
            first[operation["xname"]] = operation["operationID"]
            yield operation


def _matches(item: FirmwareItem, parameters: Json) -> bool:
    targets, hardware = parameters["targetFilter"]["targets"], parameters["inventoryHardwareFilter"]
    return (
        (not targets or item.target in targets or item.name in targets)
        and hardware["manufacturer"] in ("", item.manufacturer)
        and hardware["model"] in ("", item.model)
    )


def _requested_image(item: FirmwareItem, parameters: Json, images: dict[str, Json]) -> str | None:
    """The requested image; NIL when none was requested, None when it does not fit the firmware item."""
    image_filter = parameters["imageFilter"]
    if image_filter["imageID"] == NIL:
        return NIL
    image = images.get(image_filter["imageID"])
    if image is None:
        return NIL
    is_suitable = (
        item.model in (image["models"] or ())
        and image["target"] == item.target
        and image["manufacturer"].lower() == item.manufacturer.lower()
        and image["deviceType"].lower() == item.device_type.lower()
    )
    return str(image_filter["imageID"]) if is_suitable or image_filter["overrideImage"] else None


def _applies(image: Json, operation: Json) -> bool:
    is_target = image["target"] in (operation["target"], operation["targetName"])
    return (
        is_target
        and operation["model"] in (image["models"] or ())
        and image["manufacturer"].lower() == operation["manufacturer"].lower()
        and (image["deviceType"].lower() == operation["deviceType"].lower())
    )


def _chosen(fitting: dict[str, Json], command: Json) -> str:
    tagged: Iterable[str] = [key for key, image in fitting.items() if command["tag"] in (image["tags"] or ())]
    pick = max if command["version"] == "latest" else min
    return pick(tagged, key=lambda key: versions.order(fitting[key]["semanticFirmwareVersion"]), default=NIL)
