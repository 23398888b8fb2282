"""What FAS reads, and how it gives it back."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, INT, STRING, STRINGS, GoType, pointer_to, struct
from csm_emulator.records import Json
from csm_emulator.services.fas.responses import NIL, Failed, filled, parse_uuid

COMPONENTS = struct(
    "storage.StateComponentFilter", dict.fromkeys(("partitions", "groups", "xnames", "deviceTypes"), STRINGS)
)
HARDWARE = struct("storage.InventoryHardwareFilter", {"manufacturer": STRING, "model": STRING})
TARGETS = struct("storage.TargetFilter", {"targets": STRINGS})
COMMAND = struct(
    "storage.Command",
    {
        "overrideDryrun": BOOL,
        "restoreNotPossibleOverride": BOOL,
        "overwriteSameImage": BOOL,
        "timeLimit": INT,
        "version": STRING,
        "tag": STRING,
        "description": STRING,
    },
)
ACTION = struct(
    "storage.ActionParameters",
    {
        "stateComponentFilter": COMPONENTS,
        "inventoryHardwareFilter": HARDWARE,
        "imageFilter": struct("storage.ImageFilter", {"imageID": pointer_to(STRING), "overrideImage": BOOL}),
        "targetFilter": TARGETS,
        "command": COMMAND,
    },
)
SNAPSHOT = struct(
    "presentation.SnapshotParametersMarshaled",
    {
        "name": STRING,
        "expirationTime": STRING,
        "stateComponentFilter": COMPONENTS,
        "inventoryHardwareFilter": HARDWARE,
        "targetFilter": TARGETS,
    },
)
IMAGE = struct(
    "presentation.RawImage",
    {
        "deviceType": STRING,
        "manufacturer": STRING,
        "models": STRINGS,
        "softwareIds": STRINGS,
        "target": STRING,
        "tags": STRINGS,
        "firmwareVersion": STRING,
        "semanticFirmwareVersion": STRING,
        "updateURI": STRING,
        "needManualReboot": BOOL,
        "waitTimeBeforeManualRebootSeconds": INT,
        "waitTimeAfterRebootSeconds": INT,
        "pollingSpeedSeconds": INT,
        "forceResetType": STRING,
        "s3URL": STRING,
        "tftpURL": STRING,
        "allowableDeviceStates": STRINGS,
    },
)


def read(body: bytes, kind: GoType) -> Json:
    try:
        return decode(body, kind)
    except DecodeError as error:
        raise Failed(400, str(error)) from error


def read_action(body: bytes) -> Json:
    said = read(body, ACTION)
    image = said["imageFilter"]["imageID"]
    try:
        said["imageFilter"]["imageID"] = NIL if image is None else parse_uuid(image)
    except ValueError as error:
        raise Failed(400, str(error)) from error
    return said


def show_command(command: Json) -> Json:
    return {name: value for name, value in command.items() if name != "timeLimit" or value}


def show_parameters(parameters: Json) -> Json:
    return {
        "stateComponentFilter": filled(parameters["stateComponentFilter"]),
        "inventoryHardwareFilter": filled(parameters["inventoryHardwareFilter"]),
        "imageFilter": parameters["imageFilter"],
        "targetFilter": filled(parameters["targetFilter"]),
        "command": show_command(parameters["command"]),
    }
