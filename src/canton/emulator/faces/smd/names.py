"""Xnames and types as SMD takes them: case, blanks around and leading zeros do not matter."""

from __future__ import annotations

import re
from functools import lru_cache

from canton.domain.xname import XnameType, is_xname, parse

_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_PARENT = re.compile(r"[a-z.]*[0-9]*$")
# HMS's own table calls the first types by other keys than by their names.
TYPES = {kind.value.lower(): kind.value for kind in XnameType if kind.value.lower() not in ("all", "allsvc", "allcomp")} | {
    "invalid": "INVALID",
    "hmstypeall": "All",
    "hmstypeallsvc": "AllSvc",
    "hmstypeallcomp": "AllComp",
}
LONGEST = 63
"""What the database has room for."""


def normal(text: str) -> str:
    """Whether or not it is an xname."""
    return _LEADING_ZEROS.sub("", text.strip()).lower()


@lru_cache(maxsize=1 << 16)
def type_of(xname: str) -> str:
    """Of an xname in its normal form; empty when it is none."""
    if not is_xname(xname) or xname != xname.strip().lower():
        return ""
    return parse(xname).type.value


def verified(text: str) -> str:
    """The normal form of an xname; empty when it is none."""
    xname = normal(text)
    return xname if type_of(xname) else ""


def known_type(text: str) -> str:
    """A type as it is spelled; empty when there is none of that name."""
    return TYPES.get(text.lower(), "")


def parent_of(xname: str) -> str:
    if type_of(xname) in ("Cabinet", "CDU"):
        return "s0"
    return _PARENT.sub("", xname, count=1)
