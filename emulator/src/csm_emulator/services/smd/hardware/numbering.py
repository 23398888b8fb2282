"""Numbers of the places of the machine: a machine of 10,000 nodes has a quarter of a million places.

Numbers count through the parts. A serial number is such a number multiplied modulo 2³², so that serial numbers look
random but can be mapped back to their place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Fru, NodeModel, Part
from csm_emulator.services.smd.hardware.types import TYPES, fru_id
from csm_emulator.state.random import SeededRandom

_INSIDE = re.compile(r"(.*n\d+)([a-z].*)")
_LETTER = re.compile("[a-z]")
_ORDINAL = re.compile(r"\d+$")
_OUTLET = re.compile(r"CabinetPDUPowerConnector\.(\d+)\.(.+)")
_SERIAL = re.compile(r"HC[0-9A-F]{8}")
_SERIAL_COUNT = 1 << 32
NO_FRU = Fru("", "", "", "")
OUTLET = "CabinetPDUPowerConnector"


@dataclass(frozen=True, slots=True)
class Item:
    """One place and the FRU in it."""

    xname: str
    kind: str
    part: Part
    fru: Fru
    serial: str

    @property
    def ordinal(self) -> int:
        match = _ORDINAL.search(self.xname)
        return int(match[0]) if match else 0


class Numbering:
    """Maps places to numbers, serial numbers and FRU ids, and back."""

    def __init__(self, machine: Machine, random: SeededRandom) -> None:
        self._parts = [part for part in machine.parts() if part.type in TYPES and part.controller and _fru(part)]
        self._positions = {part.xname: position for position, part in enumerate(self._parts)}
        self._fittings_by_model: dict[int, dict[str, tuple[int, Fru]]] = {}
        self._prefixes: dict[tuple[str, int], str] = {}
        self._starts: list[int] = []
        self._parts_under: dict[str, list[Part]] | None = None
        """Place → the parts at and under it; computed when the first request needs it."""
        total = 0
        for part in self._parts:
            self._starts.append(total)
            total += 1 + len(self._fittings(part.model))
        self.total = total
        self._factor = int(random.roll("serials") * (_SERIAL_COUNT >> 1)) * 2 + 1
        self._inverse_factor = pow(self._factor, -1, _SERIAL_COUNT)

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield part.xname
            if part.model:
                for ending in self._fittings(part.model):
                    yield part.xname + ending

    def places(self, part: Part) -> Iterator[str]:
        if part.xname in self._positions:
            yield part.xname
            yield from (part.xname + ending for ending in self._fittings(part.model))

    def below(self, place: str) -> Iterator[str]:
        """The place and the places inside it, in order."""
        if self._parts_under is None:
            self._parts_under = {}
            for part in self._parts:
                for ancestor in lineage(part.xname):
                    self._parts_under.setdefault(ancestor, []).append(part)
        inside = _INSIDE.fullmatch(place)
        if inside and inside[1] in self._positions:
            yield from (xname for xname in self.places(self._part(inside[1])) if place in lineage(xname))
        for part in self._parts_under.get(place, ()):
            yield from self.places(part)

    def __contains__(self, xname: str) -> bool:
        if xname in self._positions:
            return True
        match = _INSIDE.fullmatch(xname)
        return (
            match is not None and match[1] in self._positions and match[2] in self._fittings(self._part(match[1]).model)
        )

    def item(self, xname: str) -> Item:
        """Raises ``KeyError`` for a place without hardware."""
        position = self._positions.get(xname)
        if position is not None:
            part = self._parts[position]
            return Item(xname, part.type, part, _fru(part) or NO_FRU, self._serial(self._starts[position]))
        match = _INSIDE.fullmatch(xname)
        if match is None:
            raise KeyError(xname)
        position = self._positions[match[1]]
        part = self._parts[position]
        offset, fru = self._fittings(part.model)[match[2]]
        return Item(xname, fru.kind, part, fru, self._serial(self._starts[position] + offset))

    def with_serial(self, serial: str) -> Item:
        """Raises ``KeyError`` for an unknown serial number."""
        number = int(serial[2:], 16) * self._inverse_factor % _SERIAL_COUNT if _SERIAL.fullmatch(serial) else self.total
        if number >= self.total:
            raise KeyError(serial)
        position = bisect_right(self._starts, number) - 1
        part = self._parts[position]
        offset = number - self._starts[position]
        return self.item(part.xname + list(self._fittings(part.model))[offset - 1] if offset else part.xname)

    def fru_id(self, item: Item) -> str:
        if item.kind == OUTLET:
            return f"{item.kind}.{item.ordinal}.{self.fru_id(self.item(item.part.parent))}"
        return self._prefix(item.kind, item.fru) + item.serial

    def fru_ids(self) -> Iterator[str]:
        for position, part in enumerate(self._parts):
            if part.type == OUTLET:
                yield self.fru_id(self.item(part.xname))
                continue
            start = self._starts[position]
            yield self._prefix(part.type, _fru(part) or NO_FRU) + self._serial(start)
            for offset, fru in self._fittings(part.model).values():
                yield self._prefix(fru.kind, fru) + self._serial(start + offset)

    def _prefix(self, kind: str, fru: Fru) -> str:
        """The part of the FRU id before the serial number, the same for all FRUs of this model."""
        prefix = self._prefixes.get((kind, id(fru)))
        if prefix is None:
            prefix = fru_id(kind, "", fru.manufacturer, fru.part_number, "0")[:-1]
            self._prefixes[kind, id(fru)] = prefix
        return prefix

    def with_fru_id(self, name: str) -> Item:
        """Raises ``KeyError`` for an unknown FRU id."""
        outlet = _OUTLET.fullmatch(name)
        if outlet:
            item = self.item(f"{self.with_fru_id(outlet[2]).xname}v{outlet[1]}")
        else:
            item = self.with_serial(name.rpartition(".")[2])
        if self.fru_id(item) != name:
            raise KeyError(name)
        return item

    def _part(self, xname: str) -> Part:
        return self._parts[self._positions[xname]]

    def _serial(self, number: int) -> str:
        return f"HC{number * self._factor % _SERIAL_COUNT:08X}"

    def _fittings(self, model: NodeModel | None) -> Mapping[str, tuple[int, Fru]]:
        """End of the xname → (number from 1, FRU) of the hardware in a node; one object for all nodes of a model."""
        if model is None:
            return {}
        fittings = self._fittings_by_model.get(id(model))
        if fittings is None:
            endings = (
                (fitting.name.format(number), fitting.fru)
                for fitting in model.fittings
                for number in range(fitting.count)
                if fitting.fru.kind in TYPES
            )
            fittings = {ending: (offset, fru) for offset, (ending, fru) in enumerate(endings, start=1)}
            self._fittings_by_model[id(model)] = fittings
        return fittings


def lineage(xname: str) -> list[str]:
    """The xname and those of all places around it, outermost first: one for each letter."""
    return [*(xname[: letter.start()] for letter in _LETTER.finditer(xname, 1)), xname]


def _fru(part: Part) -> Fru | None:
    if part.type == OUTLET:
        return NO_FRU
    return part.model.board if part.model else part.fru
