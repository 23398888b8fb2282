"""From what was asked for to operations: which devices, which of their firmware, which image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas.actions.records import Records
from csm_emulator.services.fas.actions.states import ACTION, OPERATION, after, can
from csm_emulator.services.fas.devices import Spot
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.hsm_client import OK, Device, Hsm
from csm_emulator.services.fas.images import versions
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL

GATHER = 4.0
"""Seconds that it takes FAS to ask HSM and the devices."""
NOTHING = "No Viable Targets"
Found = tuple[Spot, Device]


class Survey:
    """Which firmware there is to look at, for an action or a snapshot."""

    def __init__(self, hsm: Hsm, firmware: Firmware) -> None:
        self._hsm = hsm
        self._firmware = firmware

    def look(self, parameters: Json) -> tuple[list[Found], list[str]]:
        devices, errors = self._hsm.devices(parameters["stateComponentFilter"])
        found: list[Found] = []
        for device in devices.values():
            if not self._firmware.reachable(device.xname):
                errors.append(f"Error retrieving data from {device.xname}")
                continue
            found += [(spot, device) for spot in self._firmware.devices.spots(device.xname) if _fits(spot, parameters)]
        undiscovered = [device for _, device in found if device.discovered != OK]
        errors += [f"{device.xname} discovery status: {device.discovered}" for device in undiscovered]
        if len(undiscovered) == len(found):
            errors.append(NOTHING)
        return found, list(dict.fromkeys(errors))


class Choice:
    """Images, and which of them fit: the same ones for all devices of a kind."""

    def __init__(self, images: dict[str, Json]) -> None:
        self.all = images
        self._known: dict[tuple[str, ...], dict[str, Json]] = {}

    def fitting(self, operation: Json) -> dict[str, Json]:
        kind = tuple(operation[name] for name in ("target", "targetName", "model", "manufacturer", "deviceType"))
        if kind not in self._known:
            self._known[kind] = {key: image for key, image in self.all.items() if _applies(image, operation)}
        return self._known[kind]


class Planning:
    def __init__(self, context: Context, records: Records, images: Images, survey: Survey, firmware: Firmware) -> None:
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
        self._context.scheduler.after(GATHER, "fas.plan", action)
        return action

    def begin_restore(self, parameters: Json, devices: Json, expires: float | None) -> str:
        action = self._records.new_action(parameters)
        self._context.scheduler.after(GATHER, "fas.restore", action, devices, expires)
        return action

    def _plan(self, action_id: str) -> None:
        action = self._records.actions.get(action_id)
        if action is None:
            return
        parameters = action["parameters"]
        found, errors = self._survey.look(parameters)
        images = Choice(self._images.all())
        operations = []
        for spot, device in found:
            to = _explicit(spot, parameters, images.all)
            if to is not None:
                operation = self._operation(action, spot, device, to)
                operations.append(self._decide(operation, spot, parameters["command"], images))
        self._store({**action, "errors": errors}, operations)

    def _restore(self, action_id: str, devices: Json, expires: float | None) -> None:
        action = self._records.actions.get(action_id)
        if action is None:
            return
        images, operations = Choice(self._images.all()), []
        wanted = {**action["parameters"]["stateComponentFilter"], "xnames": [device["xname"] for device in devices]}
        for device in devices:
            for target in device["targets"] or ():
                spot = self._firmware.spot(device["xname"], target["name"])
                if spot is not None:
                    operation = self._operation(action, spot, Device(spot.bmc, OK), target["imageID"])
                    operation |= {"expirationTime": expires, "deviceType": ""}
                    operations.append(self._decide(operation, spot, action["command"], images))
        parameters = {**action["parameters"], "stateComponentFilter": wanted}
        self._store({**action, "parameters": parameters}, operations)

    def _operation(self, action: Json, spot: Spot, device: Device, to: str) -> Json:
        limit, now = action["command"]["timeLimit"], self._context.clock.now()
        discovered = device.discovered == OK
        return self._records.new_operation(
            action["actionID"],
            xname=spot.bmc,
            target=spot.target,
            targetName=spot.name,
            manufacturer=spot.manufacturer,
            model=spot.model,
            deviceType=spot.device_type,
            toImageID=to,
            expirationTime=now + limit if limit > 0 else None,
            fromFirmwareVersion=self._firmware.version(spot) if discovered else "",
            error="" if discovered else f"{device.xname} discovery status: {device.discovered}",
        )

    def _decide(self, operation: Json, spot: Spot, command: Json, images: Choice) -> Json:
        over = {"endTime": self._context.clock.now()}
        if operation["error"]:
            return after(OPERATION, operation, "fail", stateHelper="ERROR Found See Operation Details", **over)
        fitting = images.fitting(operation)
        same = [key for key, image in fitting.items() if image["firmwareVersion"] == self._firmware.version(spot)]
        from_image = same[-1] if same else NIL
        to_image = _chosen(fitting, command) if command["version"] != "explicit" else operation["toImageID"]
        operation = {**operation, "fromImageID": from_image, "toImageID": to_image}
        if to_image == NIL:
            return after(OPERATION, operation, "nosol", stateHelper="No Image available", **over)
        if to_image == from_image and not command["overwriteSameImage"]:
            return after(OPERATION, operation, "noop", stateHelper="Firmware at requested version", **over)
        return after(OPERATION, operation, "configure")

    def _store(self, action: Json, operations: list[Json]) -> None:
        if not operations:
            self._records.put_action(after(ACTION, action, "finish", endTime=self._context.clock.now()))
            return
        for operation in _lined_up(operations):
            self._records.put_operation(operation)
        planned = {**action, "operationIDs": [operation["operationID"] for operation in operations]}
        # One that was aborted in the meantime stays so.
        self._records.put_action(after(ACTION, planned, "configure") if can(ACTION, planned, "configure") else planned)
        self.ready()


def _lined_up(operations: Iterable[Json]) -> Iterator[Json]:
    """The first of a device goes ahead, all others of it wait for the first."""
    first: dict[str, str] = {}
    for operation in operations:
        if operation["state"] != "configured":
            yield operation
        elif operation["xname"] in first:
            waits = {"blockedBy": [first[operation["xname"]]], "stateHelper": "blocked by sibling"}
            yield after(OPERATION, operation, "block", **waits)
        else:
            first[operation["xname"]] = operation["operationID"]
            yield operation


def _fits(spot: Spot, parameters: Json) -> bool:
    targets, hardware = parameters["targetFilter"]["targets"], parameters["inventoryHardwareFilter"]
    return (
        (not targets or spot.target in targets or spot.name in targets)
        and hardware["manufacturer"] in ("", spot.manufacturer)
        and hardware["model"] in ("", spot.model)
    )


def _explicit(spot: Spot, parameters: Json, images: dict[str, Json]) -> str | None:
    """The image that was named, when it may go there; NIL when none was named; None when it may not."""
    wanted = parameters["imageFilter"]
    if wanted["imageID"] == NIL:
        return NIL
    image = images.get(wanted["imageID"])
    if image is None:
        return NIL
    right = (
        spot.model in (image["models"] or ())
        and image["target"] == spot.target
        and image["manufacturer"].lower() == spot.manufacturer.lower()
        and image["deviceType"].lower() == spot.device_type.lower()
    )
    return str(wanted["imageID"]) if right or wanted["overrideImage"] else None


def _applies(image: Json, operation: Json) -> bool:
    at = image["target"] in (operation["target"], operation["targetName"])
    return (
        at
        and operation["model"] in (image["models"] or ())
        and image["manufacturer"].lower() == operation["manufacturer"].lower()
        and (image["deviceType"].lower() == operation["deviceType"].lower())
    )


def _chosen(fitting: dict[str, Json], command: Json) -> str:
    tagged: Iterable[str] = [key for key, image in fitting.items() if command["tag"] in (image["tags"] or ())]
    pick = max if command["version"] == "latest" else min
    return pick(tagged, key=lambda key: versions.order(fitting[key]["semanticFirmwareVersion"]), default=NIL)
