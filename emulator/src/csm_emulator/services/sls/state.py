"""``/dumpstate`` and ``/loadstate``."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANY, INT64, STRING, STRINGS, map_of, struct
from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.sls.hardware.table import HardwareTable, InvalidHardware
from csm_emulator.services.sls.names import CLASSES, COMPTYPES, NOT_HARDWARE
from csm_emulator.services.sls.networks import NETWORK, NetworkTable, UnstorableNetwork, network_error
from csm_emulator.services.sls.responses import problem
from csm_emulator.transport.call import Call, Reply

_HARDWARE = struct(
    "sls_common.GenericHardware",
    {
        "Parent": STRING,
        "Children": STRINGS,
        "Xname": STRING,
        "Type": STRING,
        "Class": STRING,
        "TypeString": STRING,
        "LastUpdated": INT64,
        "LastUpdatedTime": STRING,
        "ExtraProperties": ANY,
        "VaultData": ANY,
    },
)
_STATE = struct("sls_common.SLSState", {"Hardware": map_of(_HARDWARE), "Networks": map_of(NETWORK)})


class State:
    def __init__(self, hardware: HardwareTable, networks: NetworkTable) -> None:
        self._hardware, self._networks = hardware, networks

    def dump(self, _: Call) -> Reply:
        return marshalled(
            {
                "Hardware": {xname: self._hardware.record(xname) for xname in self._hardware},
                "Networks": {name: self._networks.record(name) for name in self._networks.names()},
            }
        )

    def no_dump(self, call: Call) -> Reply:
        return problem(call, 405, "POST for dumpstate is not supported. Use GET instead.")

    def load(self, call: Call) -> Reply:
        dump = uploaded_file(call, "sls_dump")
        if dump is None:
            return problem(call, 400, "Unable to parse SLS dump form file")
        try:
            state = decode(dump, _STATE)
        except DecodeError:
            return problem(call, 400, "Unable to unmarshal config file")
        hardware = list((state["Hardware"] or {}).values())
        networks = list((state["Networks"] or {}).values())
        if error := _state_error(hardware, networks):
            return problem(call, 400, error)
        return self._replace(call, hardware, networks)

    def _replace(self, call: Call, hardware: list[Json], networks: list[Json]) -> Reply:
        """Replace hardware and networks in two transactions: the second may fail after the first succeeded."""
        rows = [(normal(record["Xname"]), record["Class"], record["ExtraProperties"]) for record in hardware]
        try:
            self._hardware.replace(rows)
        except InvalidHardware:
            return problem(call, 500, "Failed to replace hardware")
        try:
            self._networks.replace(networks)
        except UnstorableNetwork:
            return problem(call, 500, "Failed to replace networks")
        return Reply(204)


def _state_error(hardware: list[Json], networks: list[Json]) -> str:
    for record in hardware:
        if error := _hardware_error(normal(record["Xname"]), record["Class"]):
            return error
    for record in networks:
        if error := network_error(record):
            return f"Invalid network data for {record['Name']}. {error}"
    return ""


def _hardware_error(xname: str, hardware_class: str) -> str:
    kind = hms_type(xname)
    if not kind:
        return f"Invalid xname: {xname}"
    if not hardware_class:
        return f"Missing Class field for {xname}"
    reason = ""
    if kind in NOT_HARDWARE:
        reason = "xname type is invalid"
    elif kind not in COMPTYPES:
        reason = f"{xname}: Type field (INVALID) does not match type of Xname field ({kind})"
    elif hardware_class not in CLASSES:
        reason = f"{xname}: Class value {hardware_class} is invalid"
    return f"Invalid hardware data for {xname}. {reason}" if reason else ""


def uploaded_file(call: Call, name: str) -> bytes | None:
    """The file of this name in a multipart form; None without one, also for a plain field of that name."""
    kind = call.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        return None
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    form = BytesParser(policy=HTTP).parsebytes(head + call.body)
    for part in form.iter_parts() if form.is_multipart() else ():
        matches = part.get_param("name", header="content-disposition") == name and part.get_filename()
        if matches and part.get_content_disposition() == "form-data":
            payload = part.get_payload(decode=True)
            return payload if isinstance(payload, bytes) else None
    return None
