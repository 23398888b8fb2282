"""The hardware inventory of a machine that was discovered, made when somebody asks for it.

A machine of 10,000 nodes has a quarter of a million places with something in them. Each has a number, counted through
the parts; serial numbers are these numbers, shuffled so that they do not look it, and lead back to the place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from canton.emulator.faces.smd.hardware_places import place_facts
from canton.emulator.faces.smd.hardware_types import TYPES, fru_id, fru_key, place_key, stem
from canton.emulator.faces.smd.redfish_paths import redfish_id
from canton.emulator.machine.clock import rfc3339
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.parts import Fru, NodeModel, Part
from canton.emulator.wire.call import Json
from canton.emulator.wire.go_kinds import encode

_INSIDE = re.compile(r"(.*n\d+)([a-z].*)")
_ORDINAL = re.compile(r"\d+$")
_OUTLET = re.compile(r"CabinetPDUPowerConnector\.(\d+)\.(.+)")
_SERIAL = re.compile(r"HC[0-9A-F]{8}")
_SPACE = 1 << 32
NOTHING = Fru("", "", "", "")
OUTLET = "CabinetPDUPowerConnector"


@dataclass(frozen=True, slots=True)
class Item:
    """One place, and what is in it."""

    xname: str
    kind: str
    part: Part
    fru: Fru
    serial: str

    @property
    def ordinal(self) -> int:
        found = _ORDINAL.search(self.xname)
        return int(found[0]) if found else 0


class Numbering:
    """Which place has which number, and back."""

    def __init__(self, machine: Machine, dice: Dice) -> None:
        self._parts = [part for part in machine.parts() if part.type in TYPES and part.controller and _fru(part)]
        self._at = {part.xname: position for position, part in enumerate(self._parts)}
        self._inside: dict[int, dict[str, tuple[int, Fru]]] = {}
        self._prefixes: dict[tuple[str, int], str] = {}
        self._starts: list[int] = []
        total = 0
        for part in self._parts:
            self._starts.append(total)
            total += 1 + len(self._fittings(part.model))
        self.total = total
        self._factor = int(dice.roll("serials") * (_SPACE >> 1)) * 2 + 1
        self._back = pow(self._factor, -1, _SPACE)

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield part.xname
            if part.model:
                for ending in self._fittings(part.model):
                    yield part.xname + ending

    def places(self, part: Part) -> Iterator[str]:
        if part.xname in self._at:
            yield part.xname
            yield from (part.xname + ending for ending in self._fittings(part.model))

    def __contains__(self, xname: str) -> bool:
        if xname in self._at:
            return True
        found = _INSIDE.fullmatch(xname)
        return found is not None and found[1] in self._at and found[2] in self._fittings(self._part(found[1]).model)

    def item(self, xname: str) -> Item:
        """Raises ``KeyError`` for places that have nothing in them."""
        position = self._at.get(xname)
        if position is not None:
            part = self._parts[position]
            return Item(xname, part.type, part, _fru(part) or NOTHING, self._serial(self._starts[position]))
        found = _INSIDE.fullmatch(xname)
        if found is None:
            raise KeyError(xname)
        position = self._at[found[1]]
        part = self._parts[position]
        offset, fru = self._fittings(part.model)[found[2]]
        return Item(xname, fru.kind, part, fru, self._serial(self._starts[position] + offset))

    def with_serial(self, serial: str) -> Item:
        """Raises ``KeyError`` when nothing has it."""
        number = int(serial[2:], 16) * self._back % _SPACE if _SERIAL.fullmatch(serial) else self.total
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
            yield self._prefix(part.type, _fru(part) or NOTHING) + self._serial(start)
            for offset, fru in self._fittings(part.model).values():
                yield self._prefix(fru.kind, fru) + self._serial(start + offset)

    def _prefix(self, kind: str, fru: Fru) -> str:
        """Of the ids of all of its kind: what comes before the serial number."""
        found = self._prefixes.get((kind, id(fru)))
        if found is None:
            found = fru_id(kind, "", fru.manufacturer, fru.part_number, "0")[:-1]
            self._prefixes[kind, id(fru)] = found
        return found

    def with_fru_id(self, name: str) -> Item:
        """Raises ``KeyError`` when nothing has it."""
        outlet = _OUTLET.fullmatch(name)
        if outlet:
            item = self.item(f"{self.with_fru_id(outlet[2]).xname}v{outlet[1]}")
        else:
            item = self.with_serial(name.rpartition(".")[2])
        if self.fru_id(item) != name:
            raise KeyError(name)
        return item

    def _part(self, xname: str) -> Part:
        return self._parts[self._at[xname]]

    def _serial(self, number: int) -> str:
        return f"HC{number * self._factor % _SPACE:08X}"

    def _fittings(self, model: NodeModel | None) -> Mapping[str, tuple[int, Fru]]:
        """By the end of their names, counted from 1; one object for all nodes of a model."""
        if model is None:
            return {}
        found = self._inside.get(id(model))
        if found is None:
            endings = (
                (fitting.name.format(number), fitting.fru)
                for fitting in model.fittings
                for number in range(fitting.count)
                if fitting.fru.kind in TYPES
            )
            found = {ending: (offset, fru) for offset, (ending, fru) in enumerate(endings, start=1)}
            self._inside[id(model)] = found
        return found


def _fru(part: Part) -> Fru | None:
    if part.type == OUTLET:
        return NOTHING
    return part.model.board if part.model else part.fru


def _alike(item: Item, ordinal: int) -> tuple[object, ...]:
    part = item.part
    return item.kind, ordinal, id(item.fru), id(part.model), part.hardware_class, redfish_id(part)


class HardwareSeeds(Mapping[str, Json]):
    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._places: dict[tuple[object, ...], Json] = {}

    def __getitem__(self, xname: str) -> Json:
        item = self._numbering.item(xname)
        ordinal = item.ordinal
        return {
            "ID": xname,
            "Type": item.kind,
            "Ordinal": ordinal,
            "Status": "Populated",
            "HWInventoryByLocationType": f"HWInvByLoc{stem(item.kind)}",
            place_key(item.kind): self._place(item, ordinal),
            "PopulatedFRU": self._numbering.fru_id(item),
        }

    def _place(self, item: Item, ordinal: int) -> Json:
        """One object for all places that look alike."""
        alike = _alike(item, ordinal)
        found = self._places.get(alike)
        if found is None:
            facts = place_facts(item.kind, ordinal, item.part, item.fru)
            found = self._places[alike] = encode(facts, TYPES[item.kind][0])
        return found

    def differing(self, xname: str) -> tuple[str, str, tuple[object, ...]]:
        """FRU id and serial number; and what it has in common with the places that differ in nothing but those."""
        item = self._numbering.item(xname)
        return self._numbering.fru_id(item), item.serial, _alike(item, item.ordinal)

    def at(self, part: Part) -> Iterator[str]:
        """The part's place and those inside it."""
        return self._numbering.places(part)

    def __contains__(self, xname: object) -> bool:
        return isinstance(xname, str) and xname in self._numbering

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbering)

    def __len__(self) -> int:
        return self._numbering.total


class FruSeeds(Mapping[str, Json]):
    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._infos: dict[tuple[object, ...], Json] = {}

    def __getitem__(self, name: str) -> Json:
        item = self._numbering.with_fru_id(name)
        return {
            "FRUID": name,
            "Type": item.kind,
            "Subtype": "",
            "HWInventoryByFRUType": f"HWInvByFRU{stem(item.kind)}",
            fru_key(item.kind): self._info(item),
        }

    def _info(self, item: Item) -> Json:
        model = item.part.model if item.kind == "Node" else None
        alike = (item.kind, id(item.fru), id(model))
        if alike not in self._infos:
            facts = {
                **item.fru.facts,
                "Model": item.fru.model,
                "Manufacturer": item.fru.manufacturer,
                "PartNumber": item.fru.part_number,
            }
            if model:
                facts |= {"BiosVersion": model.firmware.get("BIOS", ""), "SystemType": "Physical"}
            self._infos[alike] = encode(facts, TYPES[item.kind][1])
        info = self._infos[alike]
        return {**info, "SerialNumber": item.serial} if "SerialNumber" in info else info

    def __iter__(self) -> Iterator[str]:
        return self._numbering.fru_ids()

    def __len__(self) -> int:
        return self._numbering.total


class HistorySeeds(Mapping[str, Json]):
    """Every place was found with what is in it, once."""

    def __init__(self, numbering: Numbering, begun: float) -> None:
        self._numbering = numbering
        self._at = rfc3339(begun)

    def __getitem__(self, xname: str) -> Json:
        fru = self._numbering.fru_id(self._numbering.item(xname))
        return [{"ID": xname, "FRUID": fru, "Timestamp": self._at, "EventType": "Detected"}]

    def __contains__(self, xname: object) -> bool:
        return isinstance(xname, str) and xname in self._numbering

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbering)

    def __len__(self) -> int:
        return self._numbering.total
