"""Names, types and fields of components as in HMS's libraries (hms-xname, hms-base)."""

from __future__ import annotations

import re
from functools import lru_cache

from csm_emulator.xnames import BY_LETTERS, XnameType

CONTROLLERS = frozenset({"ChassisBMC", "RouterBMC", "NodeBMC", "CabinetPDUController"})
NODES = frozenset({"Node", "VirtualNode"})
COMPONENT_FIELDS = (
    "ID",
    "Type",
    "State",
    "Flag",
    "Enabled",
    "SoftwareStatus",
    "Role",
    "SubRole",
    "NID",
    "Subtype",
    "NetType",
    "Arch",
    "Class",
    "ReservationDisabled",
    "Locked",
)
"""In the order of the JSON responses."""
_LONGEST = 1000
_LEADING_ZEROS = re.compile("(?<![0-9])0+(?=[0-9])")
_ORDINALS = re.compile("([0-9]+)")
# In the pattern of HMS the dot of a partition is not escaped: it matches any character.
_PARTITION = re.compile("p[0-9]+(?:.[0-9]+)?")


def normal(text: str) -> str:
    """The normalised spelling: stripped, without leading zeros, in lower case. The result may still be no xname."""
    return _LEADING_ZEROS.sub("", text.strip()).lower()


def verified(text: str) -> str:
    """The normalised spelling, or an empty string if it is not an xname."""
    xname = normal(text)
    return xname if hms_type(xname) else ""


@lru_cache(maxsize=1 << 16)
def hms_type(text: str) -> str:
    """The HMS type of an xname, or an empty string.

    The name must match HMS's patterns exactly: no capitals, blanks or leading zeros.
    """
    if not text.isascii() or len(text) > _LONGEST:
        return ""
    pieces = _ORDINALS.split(text)
    shape = BY_LETTERS.get(tuple(pieces[0:-1:2]) or (text,))
    if shape is None or len(shape.bounds) != len(pieces) // 2 or (shape.bounds and pieces[-1]):
        return XnameType.PARTITION.value if _PARTITION.fullmatch(text) else ""
    if all(_fits(digits, *bounds) for digits, bounds in zip(pieces[1::2], shape.bounds, strict=True)):
        return shape.type.value
    return ""


def _fits(digits: str, low: int, high: int | None) -> bool:
    if high is None:
        return low == 0 or digits[0] != "0"
    if high > 9:
        return len(digits) <= len(str(high))
    return len(digits) == 1 and low <= int(digits) <= high
