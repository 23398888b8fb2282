"""Whether a place is in a partition: its node is a member."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.services.smd.database import Hsm

_NAME = re.compile(r"[-a-z0-9:._]+")
_NODE = re.compile(r"(x\d+c\d+s\d+b\d+n\d+)[a-z].*")


def partition_names(texts: Sequence[str]) -> list[str] | None:
    """The names as they are stored; None when one of them is invalid."""
    names = [text.strip().lower() for text in texts]
    return names if all(_NAME.fullmatch(name) for name in names) else None


def in_partitions(hsm: Hsm, names: Sequence[str]) -> Callable[[str], bool]:
    members = {xname for name in names if name in hsm.partitions for xname in hsm.partitions[name]["members"]["ids"]}
    return lambda xname: _node_of(xname) in members


def _node_of(xname: str) -> str:
    match = _NODE.fullmatch(xname)
    return match[1] if match and hms_type(match[1]) == "Node" else xname
