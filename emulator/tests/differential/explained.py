"""Every difference that is accepted, with its reason.

A difference reads ``smd POST /hsm/v2/groups body/detail: real '…' ours '…'``; a pattern must match all of it. The suite
fails on a difference that nothing here explains, and on an explanation that no difference needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explained:
    pattern: str
    reason: str

    def fits(self, difference: str) -> bool:
        return re.fullmatch(self.pattern, difference, re.DOTALL) is not None


EXPLAINED: tuple[Explained, ...] = (
    Explained(
        r"smd PATCH /hsm/v2/Inventory/EthernetInterfaces/\S+/IPAddresses/\S+ status: "
        r"real '0 the connection was closed without an answer' ours '500 .*'",
        "SMD 2.45 runs over the end of an empty list there and cuts the connection; the emulator says so in a 500",
    ),
    Explained(
        r"bss GET (/boot/v1/bootscript|/meta-data|/user-data)\S* status: "
        r"real '0 the connection was closed without an answer' ours '503 upstream connect error .*'",
        "BSS 1.37 dies there (parameters that end in initrd, cloud-init data of another type than its role's) and cuts "
        "the connection; the emulator says what Envoy makes of that",
    ),
    Explained(
        r"(smd|bss) BREW \S+ status: real '405 .*' ours '400 Invalid HTTP request received\.'",
        "Go's server takes any word for a method; the emulator's parser knows the registered ones only",
    ),
)
