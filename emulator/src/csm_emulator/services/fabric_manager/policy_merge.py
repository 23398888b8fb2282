"""The settings of a port from several policies: for each setting, the first policy that has it counts.

That the first wins is inferred: the public operator puts its VLAN policy before the existing ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.fabric.ports import DEFAULT_VLAN, SPEED, PortSettings
from csm_emulator.records import Json
from csm_emulator.services.fabric_manager.documents import Document


def merge(policies: Sequence[Document], *, edge: bool) -> PortSettings:
    """The state of a switch port without its VNIs; a port is offline unless a policy sets it online."""

    def first(name: str, default: Json) -> Json:
        return next((policy[name] for policy in policies if name in policy), default)

    native = first("nativeVlanId", f"/fabric/vlans/{DEFAULT_VLAN}" if edge else None)
    allowed = first("allowedVlans", [native] if edge else None)
    return {
        "online": first("state", "OFFLINE") == "ONLINE",
        "speed": first("speed", SPEED),
        "native": None if native is None else vlan_of(native),
        "allowed": None if allowed is None else frozenset(map(vlan_of, allowed)),
        "untagged": bool(first("isUntaggedAllowed", edge)),
    }


def vlan_of(link: str) -> int:
    return int(link.rpartition("/")[2])
