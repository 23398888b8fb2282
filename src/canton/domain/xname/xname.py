"""Xnames: the names of the places in an HPE Cray EX system, such as node ``x1000c0s0b0n0``.

``parse`` accepts every text that HMS would accept after its own normalisation: letter case, surrounding blanks and the
leading zeros of ordinals do not matter. Its result prints in the canonical form, so two texts for the same place
give equal xnames. The table of valid names is in ``xname_types``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import total_ordering

from canton.domain.errors import InvalidXname
from canton.domain.xname.mistakes import first_mistake
from canton.domain.xname.types import BLANKS, BY_LETTERS, LONGEST, SHAPES, Shape, XnameType, span

__all__ = ["LONGEST", "Xname", "XnameType", "is_xname", "normalise", "parse"]

_ORDINALS = re.compile("([0-9]+)")
_BY_TYPE = {(shape.type, len(shape.bounds)): shape for shape in SHAPES}
# Splitting at the ordinals leaves an empty string after the last one.
_BY_SPLIT = {(*letters, "") if shape.bounds else letters: shape.type for letters, shape in BY_LETTERS.items()}


@total_ordering
@dataclass(frozen=True, slots=True)
class Xname:
    """A place in the system. Sorts in natural order: s9 before s10, a chassis before its contents."""

    type: XnameType
    ordinals: tuple[int, ...]

    def __post_init__(self) -> None:
        ordinals = self.ordinals
        shape = _BY_TYPE.get((self.type, len(ordinals)))
        if shape is None:
            raise _wrong_ordinals(self.type, ordinals, "it does not take that many")
        for place, (low, high) in enumerate(shape.bounds):
            if not low <= ordinals[place] <= high:
                raise _wrong_ordinals(self.type, ordinals, f"{ordinals[place]} is out of range {span(low, high)}")

    def __str__(self) -> str:
        return self._shape.template % self.ordinals

    def __lt__(self, right: object) -> bool:
        if not isinstance(right, Xname):
            return NotImplemented
        # Most lists have one type, for which the letters need not be compared.
        if self.type is right.type:
            return self.ordinals < right.ordinals
        return self._order < right._order

    @property
    def parent(self) -> Xname | None:
        """The component this one sits in; System s0 for cabinets and CDUs, None at the top."""
        return self._rise(1) if len(self._shape.lineage) > 1 else None

    @property
    def ancestry(self) -> tuple[Xname, ...]:
        """The parent, its parent, and so on to the top."""
        return tuple(self._rise(height) for height in range(1, len(self._shape.lineage)))

    @property
    def cabinet(self) -> Xname | None:
        return self.enclosing(XnameType.CABINET)

    @property
    def chassis(self) -> Xname | None:
        return self.enclosing(XnameType.CHASSIS)

    @property
    def node(self) -> Xname | None:
        return self.enclosing(XnameType.NODE)

    def enclosing(self, kind: XnameType) -> Xname | None:
        """This xname or the ancestor that is a ``kind``; None if it lies in none."""
        lineage = self._shape.lineage
        return self._rise(lineage.index(kind)) if kind in lineage else None

    def within(self, ancestor: Xname) -> bool:
        """Whether this is ``ancestor`` or lies anywhere in it."""
        return self.enclosing(ancestor.type) == ancestor

    def _rise(self, height: int) -> Xname:
        if height == 0:
            return self
        # Only System runs out of ordinals here, and it is always s0.
        return Xname(self._shape.lineage[height], self.ordinals[:-height] or (0,))

    @property
    def _shape(self) -> Shape:
        return _BY_TYPE[self.type, len(self.ordinals)]

    @property
    def _order(self) -> tuple[tuple[str, int], ...]:
        letters = self._shape.letters
        return tuple(zip(letters, self.ordinals, strict=False)) or ((letters[0], 0),)


def parse(text: str) -> Xname:
    """Read an xname, or raise InvalidXname that points at the first mistake and names the nearest valid form."""
    xname = _read(text)
    if xname is None:
        raise _explain(text)
    return xname


def is_xname(text: str) -> bool:
    """Whether ``parse`` would accept the text."""
    return _read(text) is not None


def normalise(text: str) -> str:
    """The canonical form of a valid xname: ``X1000C0S07B0N0`` gives ``x1000c0s7b0n0``."""
    return str(parse(text))


def _read(text: str) -> Xname | None:
    if len(text) > LONGEST or not text.isascii():
        return None
    pieces = _ORDINALS.split(text.strip(BLANKS).lower())
    kind = _BY_SPLIT.get(tuple(pieces[::2]))
    if kind is None:
        return None
    try:
        return Xname(kind, tuple(map(int, pieces[1::2])))
    except InvalidXname:
        return None


def _wrong_ordinals(kind: XnameType, ordinals: tuple[int, ...], problem: str) -> InvalidXname:
    templates = " or ".join(shape.template.replace("%d", "N") for shape in SHAPES if shape.type is kind)
    return InvalidXname(
        f"{kind} cannot have ordinals {ordinals}: {problem}; it is spelled {templates}",
        type=kind.value,
        ordinals=ordinals,
    )


def _explain(text: str) -> InvalidXname:
    excerpt = text[:LONGEST]
    mistake = first_mistake(text)
    nearest = _nearest(text)
    position = mistake.index + 1
    printable = "".join(letter if " " <= letter <= "~" else "?" for letter in excerpt)
    return InvalidXname(
        f"{json.dumps(excerpt)} is not an xname: {mistake.problem} at position {position}\n"
        f"  {printable}\n"
        f"  {' ' * mistake.index}^\n"
        f"nearest valid form: {nearest}",
        text=excerpt,
        position=position,
        nearest=nearest,
    )


def _nearest(text: str) -> str:
    """The canonical form of the text after its mistakes are corrected, from left to right."""
    while (xname := _read(text)) is None:
        text = first_mistake(text).repaired
    return str(xname)
