"""NIDs: the numbers that CSM gives to nodes, written ``nid001234`` in host names."""

from __future__ import annotations

import json
import re

from canton.domain.errors import InvalidNid

__all__ = ["LARGEST", "format_nid", "parse_nid"]

# HSM keeps NIDs in a signed 64-bit column, where -1 says that a node has none.
LARGEST = 2**63 - 1

# 32 digits hold the largest NID with leading zeros to spare, and keep int() cheap on hostile text.
_NID = re.compile("(?:nid)?([0-9]{1,32})", re.IGNORECASE | re.ASCII)


def parse_nid(text: str) -> int:
    """Read ``nid001234``, ``nid1234`` or ``1234``, in any case and between blanks."""
    match = _NID.fullmatch(text.strip(" \t\r\n"))
    nid = int(match[1]) if match else -1
    if 0 <= nid <= LARGEST:
        return nid
    excerpt = text[:64]
    raise InvalidNid(
        f"{json.dumps(excerpt)} is not a NID: expected a number 0-{LARGEST}, written nid001234, nid1234 or 1234",
        text=excerpt,
    )


def format_nid(nid: int) -> str:
    """The host name form: ``nid`` and at least six digits."""
    if not 0 <= nid <= LARGEST:
        raise InvalidNid(f"NID {nid} is out of range 0-{LARGEST}; HSM gives -1 to a node without a NID", nid=nid)
    return f"nid{nid:06d}"
