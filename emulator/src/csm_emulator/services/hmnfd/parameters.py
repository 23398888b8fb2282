"""HMNFD's parameters, which can change while it runs."""

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
_UNCHANGEABLE = ("Port", "Scn_in_url")
_ABSENT_VALUES = (None, -1, "xxx")
"""The values by which HMNFD itself marks fields that a body does not have."""
_UNCHECKED_TYPES = ("Scn_retries", "Scn_backoff", "SM_retries", "SM_timeout")
"""HMNFD's error message does not name these fields when their type is wrong."""


class Params(RunningParams):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("hmnfd.params", DEFAULTS), DEFAULTS)

    def patch(self, call: Call) -> Reply:
        try:
            fields = decode(call.body, _BODY)
        except DecodeError:
            return problem(400, "Invalid Request", _type_errors(call.body), "/params")
        changes = {name: value for name, value in fields.items() if value not in _ABSENT_VALUES}
        errors = [
            f"Parameter '{name.lower()}' can't be changed in PATCH operation; "
            for name in _UNCHANGEABLE
            if name in changes
        ]
        if errors:
            return problem(400, "Invalid Request", "".join(errors), "/params")
        return self.change(changes)


def lower_case(body: bytes) -> bytes:
    return body.decode("utf-8", "replace").lower().encode("utf-8", "replace")


def lower_case_fields(body: bytes) -> dict[str, Json]:
    """The fields of the body in lower case, as a Go map; raises ``Undecodable``."""
    return decode(lower_case(body), ANYTHING_BY_NAME) or {}


def _type_errors(body: bytes) -> str:
    try:
        fields = lower_case_fields(body)
    except DecodeError as error:
        return str(error)
    return "".join(
        f"Invalid data type in {name} field. " for name in DEFAULTS if _has_wrong_type(name, fields.get(name.lower()))
    )


def _has_wrong_type(name: str, value: Json) -> bool:
    if value is None or name in _UNCHECKED_TYPES:
        return False
    if isinstance(DEFAULTS[name], int):
        return isinstance(value, bool) or not isinstance(value, int | float)
    return not isinstance(value, str)
