"""``/snapshots``: records of the installed firmware versions, and their restoration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.actions.api import accepted, check_components
from csm_emulator.services.fas.actions.planner import PLANNING_TIME, ActionPlanner, DiscoveredFirmware, FirmwareSurvey
from csm_emulator.services.fas.controllers import DISCOVERED
from csm_emulator.services.fas.devices import FirmwareItem
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL, RequestFailed, answer, go_time, with_problems, without_empty
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

EXPIRY_INTERVAL = 2500.0
"""Seconds: FAS deletes expired snapshots in every 500th round of its loop."""
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_NUMBER = re.compile("[+-]?[0-9]{1,18}")


class Snapshots:
    def __init__(
        self, context: Context, images: Images, survey: FirmwareSurvey, firmware: Firmware, planner: ActionPlanner
    ) -> None:
        self._context = context
        self._images = images
        self._survey = survey
        self._firmware = firmware
        self._planner = planner
        self._table: RecordTable[Record] = context.tables.open("fas.snapshots")
        context.scheduler.register("fas.snapshot", self._take)
        context.scheduler.register("fas.expire", self._expire)

    def routes(self) -> list[Route]:
        one = "/snapshots/{name}"
        return [
            Route("GET", "/snapshots", self.list_all),
            Route("GET", one, with_problems(self.get)),
            Route("POST", "/snapshots", with_problems(self.create)),
            Route("POST", one + "/restore", with_problems(self.restore)),
            Route("DELETE", one, with_problems(self.delete)),
        ]

    def list_all(self, _: Call) -> Reply:
        return answer({"snapshots": [_summary(self._table[name]) for name in sorted(self._table)]})

    def get(self, call: Call) -> Reply:
        return answer(_show(self._expect(call)))

    def create(self, call: Call) -> Reply:
        parameters = bodies.read(call.body, bodies.SNAPSHOT)
        check_components(parameters["stateComponentFilter"])
        name = parameters["name"]
        if not name:
            raise RequestFailed(400, "Name cannot be empty")
        if name in self._table:
            raise RequestFailed(409, "Snapshot with same name already exists")
        now, expires = self._context.clock.now(), _expiration_time(parameters["expirationTime"])
        self._table[name] = {
            "name": name,
            "captureTime": now,
            "expirationTime": expires,
            "ready": False,
            "devices": [],
            "parameters": parameters,
            "errors": [],
        }
        self._context.scheduler.after(PLANNING_TIME, "fas.snapshot", name, now)
        if expires is not None:
            self._context.scheduler.at(next_tick(max(expires, now), EXPIRY_INTERVAL), "fas.expire", name, now)
        return answer({"name": name}, 201, [("Location", f"../snapshots/{_header_value(name)}")])

    def delete(self, call: Call) -> Reply:
        del self._table[self._expect(call)["name"]]
        return Reply(204)

    def restore(self, call: Call) -> Reply:
        if call.first("confirm").upper() != "YES":
            raise RequestFailed(400, "missing required parameter 'confirm'")
        override = call.first("overrideDryrun").upper() == "TRUE"
        limit = _number(call.first("timeLimit")) if call.has("timeLimit") else 0
        snapshot = self._expect(call)
        command = {
            "overrideDryrun": override,
            "restoreNotPossibleOverride": True,
            "overwriteSameImage": False,
            "timeLimit": limit,
            "version": "explicit",
            "tag": "",
            "description": f"restore snapshot {snapshot['name']}",
        }
        parameters = bodies.read_action(b"{}") | {"command": command}
        action = self._planner.begin_restore(parameters, snapshot["devices"], snapshot["expirationTime"])
        return accepted(action, command)

    def _expect(self, call: Call) -> Json:
        name = call.args["name"]
        if name not in self._table:
            raise RequestFailed(404, f"Key /snapshots/{name} does not exist")
        return self._table[name]

    def _take(self, name: str, captured: float) -> None:
        snapshot = self._table.get(name)
        if snapshot is None or snapshot["captureTime"] != captured:
            return
        firmware, errors = self._survey.look(snapshot["parameters"])
        self._table[name] = {**snapshot, "devices": self._devices(firmware), "errors": errors, "ready": True}

    def _devices(self, firmware: list[DiscoveredFirmware]) -> list[Json]:
        images = self._images.all()
        devices: dict[str, Json] = {}
        for item, device in firmware:
            if device.discovery_status != DISCOVERED:
                error = f"{device.xname} discovery status: {device.discovery_status}"
                devices[item.bmc] = {"xname": item.bmc, "targets": None, "error": error}
                continue
            entry = devices.setdefault(item.bmc, {"xname": item.bmc, "targets": [], "error": ""})
            entry["targets"].append(self._target(item, images))
        return list(devices.values())

    def _target(self, item: FirmwareItem, images: Mapping[str, Json]) -> Json:
        version = self._firmware.version(item)
        matches = [key for key, image in images.items() if _is_installed(image, item, version)]
        return {
            "name": item.target,
            "firmwareVersion": version,
            "error": "",
            "imageID": matches[-1] if matches else NIL,
            "softwareId": "",
            "targetName": item.name,
        }

    def _expire(self, name: str, captured: float) -> None:
        snapshot = self._table.get(name)
        if snapshot is not None and snapshot["captureTime"] == captured:
            del self._table[name]


def _is_installed(image: Json, item: FirmwareItem, version: str) -> bool:
    return (
        item.model in (image["models"] or ())
        and image["deviceType"].lower() == item.device_type.lower()
        and image["manufacturer"].lower() == item.manufacturer.lower()
        and image["target"] in (item.target, item.name)
        and image["firmwareVersion"] == version
    )


def _summary(snapshot: Json) -> Json:
    return _times(snapshot) | {
        "ready": snapshot["ready"],
        "relatedActions": [],
        "uniqueDeviceCount": len(snapshot["devices"]),
    }


def _show(snapshot: Json) -> Json:
    parameters = snapshot["parameters"]
    filters: dict[str, Json] = {"name": parameters["name"]}
    if snapshot["expirationTime"] is not None:
        filters["expirationTime"] = go_time(snapshot["expirationTime"])
    for name in ("stateComponentFilter", "inventoryHardwareFilter", "targetFilter"):
        filters[name] = without_empty(parameters[name])
    return _times(snapshot) | {
        "ready": snapshot["ready"],
        "devices": snapshot["devices"],
        "relatedActions": [],
        "parameters": filters,
        "errors": snapshot["errors"],
    }


def _times(snapshot: Json) -> dict[str, Json]:
    times = {"name": snapshot["name"], "captureTime": go_time(snapshot["captureTime"])}
    if snapshot["expirationTime"] is not None:
        times["expirationTime"] = go_time(snapshot["expirationTime"])
    return times


def _expiration_time(text: str) -> float | None:
    """None for a text that is not a time: FAS ignores it without an error."""
    if not _RFC3339.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise RequestFailed(400, f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _header_value(name: str) -> str:
    """The name without characters that a header cannot carry."""
    return "".join(letter if letter.isascii() and letter.isprintable() else " " for letter in name)
