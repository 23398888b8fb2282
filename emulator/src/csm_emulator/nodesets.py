"""Nodesets, such as ``x1000c0s[0-3]b0n[0-1]``: the notation for the targets of faults and probes.

A comma joins sets. A bracket holds numbers and ranges (``[0-3,8]``); a range whose first number has zeros in front
keeps their width (``[08-12]``). There are no other operators, and no groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

from csm_emulator.errors import InvalidNodeset

LIMIT = 100_000
"""Names in one nodeset: ten times the nodes of the largest machine; this many names use little memory."""
LONGEST = 253
"""Characters in one name, as in a host name (RFC 1035, section 2.3.4)."""

_TERM = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]|\[[0-9, /-]*\])*+")
_RANGE = re.compile(r" *([0-9]{1,18})(?:-([0-9]{1,18}))? *")
_NUMBER = re.compile("([0-9]+)")


def expand(text: str) -> list[str]:
    """All names of a nodeset, in natural order; raises ``InvalidNodeset``."""
    names: set[str] = set()
    for term in _terms(text):
        pieces = _pieces(term)
        size = 1
        for piece in pieces:
            size *= len(piece)
        if len(names) + size > LIMIT:
            raise InvalidNodeset(f"{text[:60]!a} names more than {LIMIT:,} nodes; split it")
        names.update(map("".join, product(*pieces)))
    too_long = next((name for name in names if len(name) > LONGEST), None)
    if too_long:
        raise InvalidNodeset(f"a name has {len(too_long)} characters; the limit is {LONGEST}")
    return natural_order(names)


def natural_order(names: Iterable[str]) -> list[str]:
    """``n2`` before ``n10``, and ``n1`` before ``n01``."""
    return sorted(names, key=_natural_key)


def _natural_key(name: str) -> list[tuple[int, int, str]]:
    pieces = _NUMBER.split(name)
    return [(int(piece), len(piece), "") if index % 2 else (0, 0, piece) for index, piece in enumerate(pieces)]


def _terms(text: str) -> list[str]:
    """The comma-separated parts; a comma inside brackets separates ranges."""
    if not text.strip():
        return []
    terms = [term.strip() for term in re.split(r",(?![^\[\]]*\])", text)]
    for term in terms:
        if not _TERM.fullmatch(term):
            raise InvalidNodeset(f"{term[:60]!a} is not a nodeset such as x1000c0s[0-3]b0n0")
    return terms


def _pieces(term: str) -> list[list[str]]:
    """Fixed texts and brackets alternately, each as the list of texts that it stands for."""
    return [_numbers(piece) if index % 2 else [piece] for index, piece in enumerate(re.split(r"\[([^\[\]]*)\]", term))]


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if match is None:
            raise InvalidNodeset(f"[{ranges[:60]}]: write numbers and ranges, such as [0-3,8]")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= LIMIT:
            raise InvalidNodeset(f"[{ranges[:60]}]: the range {text.strip()} is descending or too long")
        width = len(match[1]) if match[1].startswith("0") else 0
        numbers.extend(f"{number:0{width}}" for number in range(first, last + 1))
        if len(numbers) > LIMIT:
            raise InvalidNodeset(f"[{ranges[:60]}] holds more than {LIMIT:,} numbers")
    return numbers
