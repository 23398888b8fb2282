"""The images that HPE delivers for the hardware of this machine: what is on it, and the next version of some."""

from __future__ import annotations

import re

from csm_emulator.records import Json
from csm_emulator.services.fas.devices import GIGABYTE, Devices, Spot
from csm_emulator.state.random import SeededRandom

_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)+|[0-9]+")
_REBOOT = {
    "needManualReboot": True,
    "waitTimeBeforeManualRebootSeconds": 600,
    "waitTimeAfterRebootSeconds": 180,
    "forceResetType": "ForceRestart",
}
"""What HPE's images for Gigabyte say."""


def images(devices: Devices, random: SeededRandom) -> list[Json]:
    """As their bodies stand in a POST of images."""
    found: dict[tuple[str, ...], Json] = {}
    for controller in devices.one_of_each_kind():
        for spot in devices.spots(controller):
            versions = [spot.version] + ([_next(spot.version)] if spot.node or spot.restarts else [])
            for version in versions:
                key = (spot.device_type, spot.manufacturer, spot.model, spot.name, version)
                if key not in found:
                    found[key] = _image(spot, version, random)
    return list(found.values())


def _image(spot: Spot, version: str, random: SeededRandom) -> Json:
    place = random.hex(32, "image", spot.model, spot.name, version)
    name = re.sub("[^a-z0-9.]+", "-", f"{spot.model}-{spot.name}-{version}".lower())
    return {
        "deviceType": spot.device_type,
        "manufacturer": spot.manufacturer,
        "models": [spot.model],
        "softwareIds": [],
        "target": spot.name,
        "tags": ["default"],
        "firmwareVersion": version,
        "semanticFirmwareVersion": semantic(version),
        "updateURI": "",
        "needManualReboot": False,
        "waitTimeBeforeManualRebootSeconds": 0,
        "waitTimeAfterRebootSeconds": 0,
        "pollingSpeedSeconds": 30,
        "forceResetType": "",
        "s3URL": f"s3:/fw-update/{place}/{name}.bin",
        "tftpURL": "",
        "allowableDeviceStates": ["On", "Off"],
        **(_REBOOT if spot.manufacturer == GIGABYTE else {}),
    }


def semantic(version: str) -> str:
    """The first numbers in it with points between them, or else the first number."""
    numbers = _numbers(version)
    parts = [int(part) for part in numbers[0].split(".")][:3] if numbers else []
    return ".".join(str(part) for part in [*parts, 0, 0, 0][:3])


def _next(version: str) -> str:
    numbers = _numbers(version)
    if not numbers:
        return f"{version}.1"
    head, point, last = numbers[0].rpartition(".")
    return version.replace(numbers[0], f"{head}{point}{int(last) + 1}", 1)


def _numbers(version: str) -> list[str]:
    return sorted(_NUMBERS.findall(version), key=lambda found: "." not in found)
