"""Every difference that is accepted, with its reason.

A difference reads ``smd POST /hsm/v2/groups body/detail: real '…' ours '…'``; a pattern must match all of it. The suite
fails on a difference that is not listed here, and on an entry that no difference needed, unless it occurs by chance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AcceptedDifference:
    pattern: str
    reason: str
    by_chance: bool = False
    """Whether the real service answers the same request differently at different times."""

    def fits(self, difference: str) -> bool:
        return re.fullmatch(self.pattern, difference, re.DOTALL) is not None


_DISABLED = "'Component reservations are disabled'"


def _disabled_or(other: str) -> str:
    """One side names the component whose reservations are disabled, the other side the other component."""
    return rf"(real {_DISABLED} ours '{other}'|real '{other}' ours {_DISABLED})"


ACCEPTED: tuple[AcceptedDifference, ...] = (
    AcceptedDifference(
        r"smd PATCH /hsm/v2/Inventory/EthernetInterfaces/\S+/IPAddresses/\S+ status: "
        r"real '0 the connection was closed without an answer' ours '500 .*'",
        "SMD 2.45 runs over the end of an empty list there and cuts the connection; the emulator answers 500",
    ),
    AcceptedDifference(
        r"bss GET (/boot/v1/bootscript|/meta-data|/user-data)\S* status: "
        r"real '0 the connection was closed without an answer' ours '503 upstream connect error .*'",
        "BSS 1.37 dies there (parameters that end in initrd, cloud-init data of another type than its role's) and cuts "
        "the connection; the emulator answers as Envoy does then",
    ),
    AcceptedDifference(
        r"(smd|bss) BREW \S+ status: real '405 .*' ours '400 Invalid HTTP request received\.'",
        "Go's server takes any word for a method; the emulator's parser knows the registered ones only",
    ),
    AcceptedDifference(
        r"smd POST /hsm/v2/locks/(reservations body/detail: "
        rf"{_disabled_or('Component is Unlocked')}|"
        rf"service/reservations body/detail: {_disabled_or('Component is Locked')})",
        "of several components that fail for different reasons SMD names the one that PostgreSQL returns first, and "
        "PostgreSQL promises no order",
        by_chance=True,
    ),
)
