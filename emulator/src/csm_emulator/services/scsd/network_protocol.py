"""NTP, syslog and SSH keys of a controller: Redfish's NetworkProtocol, which only Cray's controllers fully support."""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableMapping, Sequence

from csm_emulator.dialects.go_json.types import BOOL, INT, STRING, STRINGS, pointer_to, struct
from csm_emulator.records import Json
from csm_emulator.services.scsd.problems import OperationError
from csm_emulator.services.scsd.redfish import without_port
from csm_emulator.services.scsd.targets import NoValidTargets, Target

_NTP = struct("main.NTPData", {"NTPServers": STRINGS, "ProtocolEnabled": BOOL, "Port": INT})
_SYSLOG = struct(
    "main.SyslogData", {"ProtocolEnabled": BOOL, "SyslogServers": STRINGS, "Transport": STRING, "Port": INT}
)
PARAMS = struct(
    "main.cfgParams",
    {
        "NTPServerInfo": pointer_to(_NTP),
        "SyslogServerInfo": pointer_to(_SYSLOG),
        "SSHKey": STRING,
        "SSHConsoleKey": STRING,
        "BootOrder": STRING,
    },
)
MAX_CHARACTERS = 32 << 20
NAMES = ("NTPServerInfo", "SyslogServerInfo", "SSHKey", "SSHConsoleKey")
FACTORY: Json = {
    "NTPServerInfo": {"NTPServers": ["time-hmn"], "ProtocolEnabled": True, "Port": 123},
    "SyslogServerInfo": {
        "ProtocolEnabled": True,
        "SyslogServers": ["rsyslog-aggregator.hmnlb"],
        "Transport": "udp",
        "Port": 514,
    },
    "SSHKey": "",
    "SSHConsoleKey": "",
}
"""The settings of a controller after the installation of CSM."""


def fetch(table: MutableMapping[str, Json], targets: Sequence[Target], names: Iterable[str]) -> list[Json]:
    """The settings of all targets; raises ``NoValidTargets``."""
    lower_names = {name.lower() for name in names}
    controllers = _controllers(targets)
    hosts = [without_port(target.name) for target in controllers]
    values_by_host = {host: _selected(table[host], lower_names) for host in dict.fromkeys(hosts)}
    sizes = {host: len(json.dumps(values)) for host, values in values_by_host.items()}
    _check_size(sum(map(sizes.__getitem__, hosts)))
    results = [
        _result(target, 200, "OK", values_by_host[host]) for target, host in zip(controllers, hosts, strict=True)
    ]
    for target in targets:
        if target.group_matched:
            continue
        if not target.in_good_state:
            results.append(_result(target, 422, target.error, {}))
        elif not target.mountain:
            results.append(_result(target, 415, f"Target '{target.name}' is COTS, not the correct type", {}))
    return results


def load(table: MutableMapping[str, Json], targets: Sequence[Target], settings: Json) -> list[Json]:
    """Change the settings of Cray controllers; others are skipped without an error. Raises ``NoValidTargets``."""
    controllers = _controllers(targets)
    hosts = dict.fromkeys(without_port(target.name) for target in controllers)
    _check_size(len(hosts) * len(json.dumps(settings)))
    for host in hosts:
        table[host] = _merged(table[host], settings)
    results = [{"Xname": target.name, "StatusCode": 200, "StatusMsg": "OK"} for target in controllers]
    results += [
        {"Xname": target.name, "StatusCode": 422, "StatusMsg": target.error}
        for target in targets
        if not target.group_matched and not target.in_good_state
    ]
    return results


def _check_size(size: int) -> None:
    """Limit the sum over all targets, since one long key is stored or shown for each. Raises ``OperationError``."""
    if size > MAX_CHARACTERS:
        raise OperationError(
            413, "Request Entity Too Large", f"ERROR: more than {MAX_CHARACTERS} characters for all targets\n"
        )


def _controllers(targets: Iterable[Target]) -> list[Target]:
    controllers = [target for target in targets if target.in_good_state and target.mountain]
    if not controllers:
        raise NoValidTargets
    return controllers


def _merged(settings: Json, changes: Json) -> Json:
    """The changed settings. SCSD does not send empty, zero or false values, so nothing can be switched off."""
    result = dict(settings)
    for name in NAMES:
        value = changes[name]
        if isinstance(value, dict):
            result[name] = {**settings[name], **{key: inner for key, inner in value.items() if inner}}
        elif value:
            result[name] = value
    return result


def _selected(settings: Json, lower_names: set[str]) -> Json:
    values: dict[str, Json] = {}
    for name in NAMES:
        if name.lower() in lower_names:
            value = settings[name]
            values[name] = {key: inner for key, inner in value.items() if inner} if isinstance(value, dict) else value
    return {name: value for name, value in values.items() if value != ""}


def _result(target: Target, status: int, message: str, params: Json) -> Json:
    return {"Xname": target.name, "StatusCode": status, "StatusMsg": message, "Params": params}
