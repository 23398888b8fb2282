"""From names to folded text: natural order, ranges, and the merging of dimensions.

A name is cut into text and numbers in turn, ``x1000c0`` into ``("x", "1000", "c", "0", "")``; the texts are its
pattern, the numbers its row. Only rows of one pattern fold together. Zeros in front are part of a number:
``1`` and ``01`` name different nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from operator import itemgetter
from typing import TypeAlias

Parts: TypeAlias = tuple[str, ...]
Row: TypeAlias = tuple[str, ...]
Rank: TypeAlias = "str | tuple[int, int]"

# More numbers than a real name has; a product of 100,000 names varies in at most this many. The remainder of a name
# counts as text: a hostile name has 126 numbers, and folding 65,536 such names took half a minute.
DIMENSIONS = 16

_NUMBER = re.compile("[0-9]+")
_SHAPE = str.maketrans("123456789", "000000000")


def natural(names: Iterable[str]) -> list[str]:
    """The names in natural order: ``n2`` before ``n10``, and ``n1`` before ``n01``."""
    shapes = _by_shape(names)
    if len(shapes) == 1:
        return next(iter(shapes.values()))
    return ["".join(parts) for parts in _arrange(shapes)]


def fold(names: Iterable[str]) -> str:
    """The canonical text of a set of names; equal sets give equal text."""
    patterns: dict[Parts, list[Row]] = {}
    for parts in _arrange(_by_shape(names)):
        patterns.setdefault(parts[0::2], []).append(parts[1::2])
    return ",".join(text for pattern, rows in patterns.items() for text in _texts(pattern, rows))


def _by_shape(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of one shape are equal but for the values of their digits: ``x1000c0`` and ``x1003c7``.

    Within a shape natural order is the order of the text, and the numbers stand at the same places.
    """
    shapes: dict[str, list[str]] = {}
    ordered = sorted(names)
    # One translation of all names together is ten times as fast as one for each.
    for name, shape in zip(ordered, "\n".join(ordered).translate(_SHAPE).split("\n"), strict=False):
        shapes.setdefault(shape, []).append(name)
    return shapes


def _arrange(shapes: dict[str, list[str]]) -> list[Parts]:
    """Cut every name into its parts, in natural order."""
    arranged = [parts for shape, names in shapes.items() for parts in map(_cutter(shape), names)]
    if len(shapes) > 1:
        rank = _Ranks().__getitem__
        arranged.sort(key=lambda parts: tuple(map(rank, parts)))
    return arranged


def _cutter(shape: str) -> Callable[[str], Parts]:
    numbers = islice(_NUMBER.finditer(shape), DIMENSIONS)
    edges = [0, *(edge for number in numbers for edge in number.span()), len(shape)]
    places = [slice(start, stop) for start, stop in pairwise(edges)]
    return itemgetter(*places) if len(places) > 1 else lambda name: (name,)


class _Ranks(dict[str, Rank]):
    """Sort keys of parts, computed once for each distinct part: a number sorts by value, then by width."""

    def __missing__(self, part: str) -> Rank:
        rank = self[part] = (int(part), len(part)) if part.isdigit() else part
        return rank


def _texts(pattern: Parts, rows: list[Row]) -> Iterator[str]:
    """Merge the dimensions one by one, the last first: cabinets come together after their slots have.

    One sweep reaches a fixed point: rows that agree in all but one dimension are merged when its turn comes, and
    later merges only join rows that are equal everywhere else. Rows stay in the order of their first name.
    """
    varying = [d for d in range(len(pattern) - 1) if any(row[d] != rows[0][d] for row in rows)]
    for dimension in reversed(varying):
        rows = _merge(rows, dimension)
    for row in rows:
        yield pattern[0] + "".join(number + text for number, text in zip(row, pattern[1:], strict=True))


def _merge(rows: list[Row], dimension: int) -> list[Row]:
    groups: dict[Row, list[str]] = {}
    for row in rows:
        groups.setdefault(row[:dimension] + row[dimension + 1 :], []).append(row[dimension])
    texts: dict[Row, str] = {}
    merged = []
    for key_parts, numbers in groups.items():
        key = tuple(numbers)
        text = texts.get(key)
        if text is None:
            text = texts[key] = _range_text(key)
        merged.append((*key_parts[:dimension], text, *key_parts[dimension:]))
    return merged


def _range_text(numbers: Row) -> str:
    """``[0-3,8,00-03]`` for several numbers, the number itself for one."""
    if len(numbers) == 1:
        return numbers[0]
    return "[" + ",".join(_runs(numbers)) + "]"


def _runs(numbers: Iterable[str]) -> Iterator[str]:
    """Runs of consecutive numbers.

    Where some number of a width has a zero in front, all numbers of that width run together (``08-12``); the
    others run freely across widths (``8-12``).
    """
    padded = {len(number) for number in numbers if number[0] == "0" and number != "0"}
    placed = sorted((len(number) if len(number) in padded else 0, int(number), number) for number in numbers)
    first = placed[0]
    for last, following in pairwise([*placed, (-1, 0, "")]):
        if (last[0], last[1] + 1) != following[:2]:
            yield last[2] if first is last else f"{first[2]}-{last[2]}"
            first = following
