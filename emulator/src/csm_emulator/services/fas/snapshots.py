"""Which firmware was on what, at a moment, and the way back to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.actions.api import accepted, check_components
from csm_emulator.services.fas.actions.planner import GATHER, Found, Planning, Survey
from csm_emulator.services.fas.devices import Spot
from csm_emulator.services.fas.firmware import Firmware
from csm_emulator.services.fas.hsm_client import OK
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import NIL, Failed, answer, answering, filled, go_time
from csm_emulator.state.clock import next_tick
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

SWEEP = 2500.0
"""Expired ones go at every 500th turn of the loop."""
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_NUMBER = re.compile("[+-]?[0-9]{1,18}")


class Snapshots:
    def __init__(
        self, context: Context, images: Images, survey: Survey, firmware: Firmware, planning: Planning
    ) -> None:
        self._context = context
        self._images = images
        self._survey = survey
        self._firmware = firmware
        self._planning = planning
        self._table = context.tables.open("fas.snapshots")
        context.scheduler.register("fas.snapshot", self._take)
        context.scheduler.register("fas.expire", self._expire)

    def routes(self) -> list[Route]:
        one = "/snapshots/{name}"
        return [
            Route("GET", "/snapshots", self.list_all),
            Route("GET", one, answering(self.get)),
            Route("POST", "/snapshots", answering(self.create)),
            Route("POST", one + "/restore", answering(self.restore)),
            Route("DELETE", one, answering(self.delete)),
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
            raise Failed(400, "Name cannot be empty")
        if name in self._table:
            raise Failed(409, "Snapshot with same name already exists")
        now, expires = self._context.clock.now(), _moment(parameters["expirationTime"])
        self._table[name] = {
            "name": name,
            "captureTime": now,
            "expirationTime": expires,
            "ready": False,
            "devices": [],
            "parameters": parameters,
            "errors": [],
        }
        self._context.scheduler.after(GATHER, "fas.snapshot", name, now)
        if expires is not None:
            self._context.scheduler.at(next_tick(max(expires, now), SWEEP), "fas.expire", name, now)
        return answer({"name": name}, 201, [("Location", f"../snapshots/{_header(name)}")])

    def delete(self, call: Call) -> Reply:
        del self._table[self._expect(call)["name"]]
        return Reply(204)

    def restore(self, call: Call) -> Reply:
        if call.first("confirm").upper() != "YES":
            raise Failed(400, "missing required parameter 'confirm'")
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
        action = self._planning.begin_restore(parameters, snapshot["devices"], snapshot["expirationTime"])
        return accepted(action, command)

    def _expect(self, call: Call) -> Json:
        name = call.args["name"]
        if name not in self._table:
            raise Failed(404, f"Key /snapshots/{name} does not exist")
        return self._table[name]

    def _take(self, name: str, captured: float) -> None:
        snapshot = self._table.get(name)
        if snapshot is None or snapshot["captureTime"] != captured:
            return
        found, errors = self._survey.look(snapshot["parameters"])
        self._table[name] = {**snapshot, "devices": self._devices(found), "errors": errors, "ready": True}

    def _devices(self, found: list[Found]) -> list[Json]:
        images = self._images.all()
        devices: dict[str, Json] = {}
        for spot, device in found:
            if device.discovered != OK:
                error = f"{device.xname} discovery status: {device.discovered}"
                devices[spot.bmc] = {"xname": spot.bmc, "targets": None, "error": error}
                continue
            entry = devices.setdefault(spot.bmc, {"xname": spot.bmc, "targets": [], "error": ""})
            entry["targets"].append(self._target(spot, images))
        return list(devices.values())

    def _target(self, spot: Spot, images: Mapping[str, Json]) -> Json:
        version = self._firmware.version(spot)
        fitting = [key for key, image in images.items() if _is_on(image, spot, version)]
        return {
            "name": spot.target,
            "firmwareVersion": version,
            "error": "",
            "imageID": fitting[-1] if fitting else NIL,
            "softwareId": "",
            "targetName": spot.name,
        }

    def _expire(self, name: str, captured: float) -> None:
        snapshot = self._table.get(name)
        if snapshot is not None and snapshot["captureTime"] == captured:
            del self._table[name]


def _is_on(image: Json, spot: Spot, version: str) -> bool:
    return (
        spot.model in (image["models"] or ())
        and image["deviceType"].lower() == spot.device_type.lower()
        and image["manufacturer"].lower() == spot.manufacturer.lower()
        and image["target"] in (spot.target, spot.name)
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
    shown: dict[str, Json] = {"name": parameters["name"]}
    if snapshot["expirationTime"] is not None:
        shown["expirationTime"] = go_time(snapshot["expirationTime"])
    for name in ("stateComponentFilter", "inventoryHardwareFilter", "targetFilter"):
        shown[name] = filled(parameters[name])
    return _times(snapshot) | {
        "ready": snapshot["ready"],
        "devices": snapshot["devices"],
        "relatedActions": [],
        "parameters": shown,
        "errors": snapshot["errors"],
    }


def _times(snapshot: Json) -> dict[str, Json]:
    shown = {"name": snapshot["name"], "captureTime": go_time(snapshot["captureTime"])}
    if snapshot["expirationTime"] is not None:
        shown["expirationTime"] = go_time(snapshot["expirationTime"])
    return shown


def _moment(text: str) -> float | None:
    """What is no instant is passed over without a word."""
    if not _RFC3339.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Failed(400, f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _header(name: str) -> str:
    """Go takes line ends out of header values; other servers refuse what is not Latin."""
    return "".join(letter if letter.isascii() and letter.isprintable() else " " for letter in name)
