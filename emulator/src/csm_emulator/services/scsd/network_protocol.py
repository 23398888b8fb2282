"""NTP, syslog and SSH keys of a controller: Redfish's NetworkProtocol, which only Cray's own controllers have whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableMapping, Sequence

from csm_emulator.dialects.go_json.types import BOOL, INT, STRING, STRINGS, pointer_to, struct
from csm_emulator.records import Json
from csm_emulator.services.scsd.problems import Failed
from csm_emulator.services.scsd.redfish import without_port
from csm_emulator.services.scsd.targets import NoTargets, Target

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
MOST = 32 << 20
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
"""What CSM's installation leaves on a controller."""


def fetch(table: MutableMapping[str, Json], targets: Sequence[Target], names: Iterable[str]) -> list[Json]:
    """Raises ``NoTargets``."""
    wanted = {name.lower() for name in names}
    answered = _able(targets)
    hosts = [without_port(target.name) for target in answered]
    chosen = {host: _chosen(table[host], wanted) for host in dict.fromkeys(hosts)}
    sizes = {host: len(json.dumps(values)) for host, values in chosen.items()}
    _bound(sum(map(sizes.__getitem__, hosts)))
    told = [_told(target, 200, "OK", chosen[host]) for target, host in zip(answered, hosts, strict=True)]
    for target in targets:
        if target.group_matched:
            continue
        if not target.good:
            told.append(_told(target, 422, target.complaint, {}))
        elif not target.mountain:
            told.append(_told(target, 415, f"Target '{target.name}' is COTS, not the correct type", {}))
    return told


def load(table: MutableMapping[str, Json], targets: Sequence[Target], wanted: Json) -> list[Json]:
    """Raises ``NoTargets``. Who is no Cray controller is passed over without a word."""
    answered = _able(targets)
    hosts = dict.fromkeys(without_port(target.name) for target in answered)
    _bound(len(hosts) * len(json.dumps(wanted)))
    for host in hosts:
        table[host] = _merged(table[host], wanted)
    told = [{"Xname": target.name, "StatusCode": 200, "StatusMsg": "OK"} for target in answered]
    told += [
        {"Xname": target.name, "StatusCode": 422, "StatusMsg": target.complaint}
        for target in targets
        if not target.group_matched and not target.good
    ]
    return told


def _bound(size: int) -> None:
    """A long key, said once, is written to each target or told of each. Raises ``Failed``."""
    if size > MOST:
        raise Failed(413, "Request Entity Too Large", f"ERROR: more than {MOST} characters for all targets\n")


def _able(targets: Iterable[Target]) -> list[Target]:
    found = [target for target in targets if target.good and target.mountain]
    if not found:
        raise NoTargets
    return found


def _merged(before: Json, wanted: Json) -> Json:
    """What is empty, zero or false does not get into the PATCH, so that nothing can be switched off by it."""
    after = dict(before)
    for name in NAMES:
        value = wanted[name]
        if isinstance(value, dict):
            after[name] = {**before[name], **{key: each for key, each in value.items() if each}}
        elif value:
            after[name] = value
    return after


def _chosen(kept: Json, wanted: set[str]) -> Json:
    chosen: dict[str, Json] = {}
    for name in NAMES:
        if name.lower() in wanted:
            value = kept[name]
            chosen[name] = {key: each for key, each in value.items() if each} if isinstance(value, dict) else value
    return {name: value for name, value in chosen.items() if value != ""}


def _told(target: Target, status: int, message: str, params: Json) -> Json:
    return {"Xname": target.name, "StatusCode": status, "StatusMsg": message, "Params": params}
