"""Xnames as HMS takes them: letter case, blanks around and leading zeros do not matter."""

from __future__ import annotations

import re
from functools import lru_cache

from canton.domain.errors import InvalidXname
from canton.domain.xname import parse

_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
# The table of HMS forgot to escape the dot of a partition: it takes any character.
_PARTITION = re.compile(r"p[0-9]+(?:.[0-9]+)?")
NODES = frozenset({"Node", "VirtualNode"})


def normal(text: str) -> str:
    """The one spelling; what is no xname stays no xname."""
    return _LEADING_ZEROS.sub("", text.strip()).lower()


@lru_cache(maxsize=1 << 16)
def kind(xname: str) -> str:
    """HMS type of an xname in its one spelling; empty when it is none."""
    if _PARTITION.fullmatch(xname):
        return "Partition"
    try:
        found = parse(xname)
    except InvalidXname:
        return ""
    return found.type.value if str(found) == xname else ""


def valid(xname: str) -> bool:
    return bool(kind(xname))


@lru_cache(maxsize=1 << 16)
def verified(text: str) -> str:
    """The one spelling, empty when it is no xname."""
    xname = normal(text)
    return xname if valid(xname) else ""
