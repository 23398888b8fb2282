"""Ranges of VNIs and their texts, such as ``10-10000``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from csm_emulator.machine.fabric.port_drift import VNIS
from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.services.fabric_manager.documents import RequestRejected

FIRST_FREE = 1024
"""The first VNI that is assigned. Nodes use 1 and 10 by default; inferred from the ranges of workload managers."""
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")


def parse_ranges(texts: Sequence[str]) -> Ranges:
    return join_ranges(map(_parse, texts))


def _parse(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if first not in VNIS or last not in VNIS or first > last:
        raise RequestRejected(400, f"vniRanges: {text!a} is not a range within {VNIS[0]}-{VNIS[-1]}")
    return first, last


def size(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def overlap(first_ranges: Ranges, second_ranges: Ranges) -> tuple[int, int] | None:
    """The first range of VNIs that are in both."""
    for first, last in first_ranges:
        for begin, end in second_ranges:
            if first <= end and begin <= last:
                return max(first, begin), min(last, end)
    return None


def within(inner: Ranges, outer: Ranges) -> bool:
    return all(any(first <= begin and end <= last for first, last in outer) for begin, end in inner)


def free_ranges(count: int, reserved: Iterable[tuple[int, int]]) -> Ranges:
    """The first free range of ``count`` consecutive VNIs."""
    start = FIRST_FREE
    for first, last in join_ranges(reserved):
        if start + count <= first:
            break
        start = max(start, last + 1)
    if start + count - 1 not in VNIS:
        raise RequestRejected(400, f"vniCount: no {count} VNIs in a row are free")
    return ((start, start + count - 1),)


def numbers(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}
