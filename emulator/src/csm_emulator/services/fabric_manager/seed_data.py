"""The documents of a new installation: one VLAN, and the policies whose names published outputs show."""

from __future__ import annotations

from csm_emulator.machine.fabric.ports import DEFAULT_VLAN, SPEED
from csm_emulator.records import Record

EDGE_POLICIES = ("cassini-policy", "qos-ll_be_bd_et-cassini-policy")
FABRIC_POLICIES = ("fabric-policy",)
"""The policies of an unchanged port, for edge and fabric ports; the first policy with a setting wins."""
NO_RETRY = {"enabled": False, "always": False, "num_retries": 0, "duration_sec": 0}
_RETRY = {"enabled": True, "always": False, "num_retries": 5, "duration_sec": 300}
_LINK = {
    "state": "ONLINE",
    "speed": SPEED,
    "autoneg": True,
    "precode": "AUTO",
    "loopback": "NONE",
    "mac": "02:00:00:00:00:00",
    "flowControl": {"rx": True, "tx": True},
    "autoRetry": _RETRY,
    "headShellReset": _RETRY,
}

POLICIES: dict[str, Record] = {
    "fabric-policy": _LINK,
    "edge-policy": _LINK,
    "cassini-policy": _LINK,
    "qos-ll_be_bd_et-cassini-policy": {"autoRetry": NO_RETRY, "headShellReset": NO_RETRY},
}
VLANS: dict[str, Record] = {str(DEFAULT_VLAN): {"id": DEFAULT_VLAN, "name": "default", "status": "ONLINE"}}
