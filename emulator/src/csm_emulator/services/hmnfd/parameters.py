"""What can be set while it runs."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANYTHING_BY_NAME, INT, STRING, pointer_to, struct
from csm_emulator.dialects.hms.parameters import RunningParams
from csm_emulator.dialects.hms.responses import problem
from csm_emulator.records import Json
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply

DEFAULTS: dict[str, int | str] = {
    "Debug": 0,
    "KV_url": "http://cray-hmnfd-bitnami-etcd-client:2379",
    "Nosm": 0,
    "Port": 28600,
    "Scn_in_url": "https://cray-hmnfd/hmi/v1/scn",
    "Scn_max_cache": 100,
    "Scn_cache_delay": 5,
    "Scn_retries": 5,
    "Scn_backoff": 1,
    "SM_retries": 3,
    "SM_timeout": 10,
    "SM_url": "https://cray-smd/hsm/v2",
    "Telemetry_host": "cluster-kafka-bootstrap.sma.svc.cluster.local:9092:cray-hmsstatechange-notifications",
    "Use_telemetry": 1,
}
_BODY = struct(
    "main.opParams", {name: pointer_to(INT if isinstance(value, int) else STRING) for name, value in DEFAULTS.items()}
)
_FIXED = ("Port", "Scn_in_url")
_UNSAID = (None, -1, "xxx")
"""The values by which HMNFD itself marks what a body does not mention."""
_UNCHECKED = ("Scn_retries", "Scn_backoff", "SM_retries", "SM_timeout")
"""Of these it does not find out that the type is wrong."""


class Params(RunningParams):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("hmnfd.params", DEFAULTS), DEFAULTS)

    def patch(self, call: Call) -> Reply:
        try:
            said = decode(call.body, _BODY)
        except DecodeError:
            return problem(400, "Invalid Request", _type_complaint(call.body), "/params")
        wanted = {name: value for name, value in said.items() if value not in _UNSAID}
        fixed = [
            f"Parameter '{name.lower()}' can't be changed in PATCH operation; " for name in _FIXED if name in wanted
        ]
        if fixed:
            return problem(400, "Invalid Request", "".join(fixed), "/params")
        return self.change(wanted)


def lowered(body: bytes) -> bytes:
    return body.decode("utf-8", "replace").lower().encode("utf-8", "replace")


def as_map(body: bytes) -> dict[str, Json]:
    """The body in small letters, as a Go map; raises ``DecodeError``."""
    return decode(lowered(body), ANYTHING_BY_NAME) or {}


def _type_complaint(body: bytes) -> str:
    try:
        found = as_map(body)
    except DecodeError as error:
        return str(error)
    return "".join(
        f"Invalid data type in {name} field. " for name in DEFAULTS if _is_wrong(name, found.get(name.lower()))
    )


def _is_wrong(name: str, value: Json) -> bool:
    if value is None or name in _UNCHECKED:
        return False
    if isinstance(DEFAULTS[name], int):
        return isinstance(value, bool) or not isinstance(value, int | float)
    return not isinstance(value, str)
