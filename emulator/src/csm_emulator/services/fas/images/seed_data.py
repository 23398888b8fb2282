"""HPE's images for the hardware of the machine: the installed versions, and newer versions of some items."""

from __future__ import annotations

import re

from csm_emulator.records import Json
from csm_emulator.services.fas.devices import GIGABYTE, Devices, FirmwareItem
from csm_emulator.state.random import SeededRandom

_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)+|[0-9]+")
_REBOOT = {
    "needManualReboot": True,
    "waitTimeBeforeManualRebootSeconds": 600,
    "waitTimeAfterRebootSeconds": 180,
    "forceResetType": "ForceRestart",
}
"""The reboot fields of HPE's images for Gigabyte."""


def images(devices: Devices, random: SeededRandom) -> list[Json]:
    """The images, in the form of the bodies of ``POST /images``."""
    bodies: dict[tuple[str, ...], Json] = {}
    for controller in devices.one_of_each_kind():
        for item in devices.firmware_items(controller):
            versions = [item.version] + ([_next(item.version)] if item.node or item.restarts else [])
            for version in versions:
                key = (item.device_type, item.manufacturer, item.model, item.name, version)
                if key not in bodies:
                    bodies[key] = _image(item, version, random)
    return list(bodies.values())


def _image(item: FirmwareItem, version: str, random: SeededRandom) -> Json:
    folder = random.hex(32, "image", item.model, item.name, version)
    name = re.sub("[^a-z0-9.]+", "-", f"{item.model}-{item.name}-{version}".lower())
    return {
        "deviceType": item.device_type,
        "manufacturer": item.manufacturer,
        "models": [item.model],
        "softwareIds": [],
        "target": item.name,
        "tags": ["default"],
        "firmwareVersion": version,
        "semanticFirmwareVersion": semantic(version),
        "updateURI": "",
        "needManualReboot": False,
        "waitTimeBeforeManualRebootSeconds": 0,
        "waitTimeAfterRebootSeconds": 0,
        "pollingSpeedSeconds": 30,
        "forceResetType": "",
        "s3URL": f"s3:/fw-update/{folder}/{name}.bin",
        "tftpURL": "",
        "allowableDeviceStates": ["On", "Off"],
        **(_REBOOT if item.manufacturer == GIGABYTE else {}),
    }


def semantic(version: str) -> str:
    """The semantic version: the first dotted numbers in the text, or else its first number."""
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
    return sorted(_NUMBERS.findall(version), key=lambda number: "." not in number)
