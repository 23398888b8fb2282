"""The enumerations of HMS, in its spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from csm_emulator.xnames import XnameType

STATES = ("Unknown", "Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready")
FLAGS = ("Unknown", "OK", "Warning", "Alert", "Locked")
ROLES = ("Compute", "Service", "System", "Application", "Storage", "Management")
SUB_ROLES = ("Master", "Worker", "Storage", "UAN", "Gateway", "LNETRouter", "Visualization", "UserDefined")
"""The first three are built in; CSM adds the others in its ConfigMap cray-hms-base-config."""
NET_TYPES = ("Sling", "Infiniband", "Ethernet", "OEM", "None")
ARCHS = ("X86", "ARM", "UNKNOWN", "Other")
CLASSES = ("River", "Mountain", "Hill")
TYPES = ("INVALID", *(xname_type.value for xname_type in XnameType))


def by_lower_case(names: Iterable[str]) -> Mapping[str, str]:
    """Name in lower case → name."""
    return {word.lower(): word for word in names}


STATE, ROLE, SUB_ROLE, NET_TYPE = (
    by_lower_case(STATES),
    by_lower_case(ROLES),
    by_lower_case(SUB_ROLES),
    by_lower_case(NET_TYPES),
)
ARCH, CLASS = by_lower_case(ARCHS), by_lower_case(CLASSES)
_GENERAL = ("All", "AllSvc", "AllComp")
TYPE = {("hmstype" if word in _GENERAL else "") + word.lower(): word for word in TYPES}
"""Word in lower case → type. HMS's table has other words for three types."""
FLAG = {**by_lower_case(FLAGS), "warn": "Warning"}

ALLOWED_OLD_STATES: Mapping[str, tuple[str, ...]] = {
    "Unknown": (),
    "Empty": (),
    "Populated": (),
    "Off": ("Off", "On", "Standby", "Halt", "Ready"),
    "On": ("On", "Off", "Standby", "Halt"),
    "Standby": ("Standby", "Ready"),
    "Halt": ("Halt", "Ready"),
    "Ready": ("Ready", "On", "Off", "Standby", "Halt"),
}
"""State → states from which it may be reached without force; empty: only with force. (hms-base hmstypes.go)"""


def spelled(table: Mapping[str, str], text: str) -> str:
    """The word in HMS's spelling; empty when the table does not have it."""
    return table.get(text.lower(), "")
