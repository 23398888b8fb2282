"""HBTD's parameters, which can change while it runs; stored as texts, as the API shows them."""

from __future__ import annotations

import re
from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.hms.parameters import RunningParams
from csm_emulator.dialects.hms.responses import problem
from csm_emulator.services.hbtd.decoding import strings, wrong_field
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply

INSTANCE = "/hmi/v1/params"
DEFAULTS = {
    "Debug": "0",
    "Nosm": "0",
    "Use_telemetry": "1",
    "Telemetry_host": "cluster-kafka-bootstrap.sma.svc.cluster.local:9092:cray-hmsheartbeat-notifications",
    "Warntime": "10",
    # The image sets 20 in its environment; the program's own default is 30.
    "Errtime": "20",
    "Port": "28500",
    "Kv_url": "http://cray-hbtd-bitnami-etcd-client:2379",
    "Interval": "5",
    "Sm_url": "http://cray-smd/hsm/v2",
    "Sm_timeout": "10",
    "Sm_retries": "3",
}
_BODY = strings("inidata", DEFAULTS)
_UINT = re.compile("0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO](_?[0-7])+|0(_?[0-7])*|[1-9](_?[0-9])*")
_SWITCH = {"0": "0", "no": "0", "off": "0", "false": "0", "1": "1", "yes": "1", "on": "1", "true": "1"}


class InvalidValue(ValueError):
    """The value is invalid; the text is HBTD's message."""


def parse_uint(text: str, bits: int = 32) -> int:
    """The number as ``strconv.ParseUint`` reads it with base 0; raises ``ValueError``."""
    if not _UINT.fullmatch(text) or len(text) > 80:
        raise ValueError(text)
    octal = text[0] == "0" and text[1:2].isdigit()
    number = int(text.replace("_", ""), 8 if octal else 0)
    if number >= 1 << bits:
        raise ValueError(text)
    return number


def _uint(name: str, text: str) -> str:
    try:
        return str(parse_uint(text))
    except ValueError:
        raise InvalidValue(f"Parameter '{name}' with illegal value '{text}'; ") from None


def _switch(name: str, text: str) -> str:
    if text.lower() not in _SWITCH:
        word = "unknown" if name == "use_telemetry" else "illegal"
        raise InvalidValue(f"Parameter '{name}' with {word} value '{text}'; ")
    return _SWITCH[text.lower()]


def _host(name: str, text: str) -> str:
    parts = text.split(":")
    if len(parts) != 3 or not re.fullmatch("[+-]?[0-9]+", parts[1]):
        raise InvalidValue(f"Parameter '{name}' with invalid format '{text}'; ")
    return text


def _unchanged(_: str, text: str) -> str:
    return text


def _unchangeable(name: str, _: str) -> str:
    raise InvalidValue(f"Parameter '{name}' can't be changed in PATCH operation; ")


# In the order of HBTD's error messages.
_CHECKS: dict[str, Callable[[str, str], str]] = {
    "Debug": _uint,
    "Nosm": _switch,
    "Use_telemetry": _switch,
    "Telemetry_host": _host,
    "Warntime": _uint,
    "Errtime": _uint,
    "Interval": _uint,
    "Kv_url": _unchanged,
    "Port": _unchangeable,
    "Sm_url": _unchanged,
    "Sm_timeout": _uint,
    "Sm_retries": _uint,
}


class Params(RunningParams):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("hbtd.params", DEFAULTS), DEFAULTS)

    def patch(self, call: Call) -> Reply:
        try:
            body = decode(call.body, _BODY)
        except DecodeError:
            return problem(400, "Invalid Request", _type_error(call.body), INSTANCE)
        values, errors = _validated(body)
        if errors:
            return problem(400, "Invalid Request", errors, INSTANCE)
        return self.change(values)


def _validated(texts: dict[str, str]) -> tuple[dict[str, str], str]:
    """The new values, and the messages about all invalid ones; empty when the values may be stored."""
    values: dict[str, str] = {}
    errors = ""
    for name, check in _CHECKS.items():
        if not texts[name]:
            continue
        try:
            values[name] = check(name.lower(), texts[name])
        except InvalidValue as error:
            errors += str(error)
    return values, errors


def _type_error(body: bytes) -> str:
    field = wrong_field(body, DEFAULTS)
    if field is None:
        return "Invalid JSON data type"
    return f"Invalid data type in {field} field. " if field else ""
