"""The hardware inventory as the wire has it, written place by place: a whole machine is 150 MB of text."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.smd.hardware.records import on_wire
from csm_emulator.services.smd.hardware.seed_data import FruSeeds, HardwareSeeds
from csm_emulator.services.smd.hardware.types import fru_key
from csm_emulator.services.smd.inventory import Inventory
from csm_emulator.transport.call import JSON, Reply, utf8

_BLANK = "\0"
_WRITTEN = "\\u0000"
"""Stands for what differs between places that are alike otherwise; no fact of hardware has a NUL in it."""


class HardwareTexts:
    """Places that nobody has touched are written by filling in what differs: that is three times as quick."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._places: HardwareSeeds = inventory.found
        self._frus: FruSeeds = inventory.found_frus
        self._forms: dict[tuple[object, ...], list[str]] = {}

    def of(self, xname: str) -> str:
        """The place with what is in it."""
        inventory = self._inventory
        if inventory.hardware.is_of_seed(xname):
            fru, serial, alike = self._places.differing(xname)
            if inventory.frus.is_of_seed(fru):
                before, between, after, *rest = self._forms.get(alike) or self._form(xname, alike)
                text = f"{before}{xname}{between}{fru}{after}"
                return f"{text}{serial}{rest[0]}" if rest else text
        return marshal(on_wire(inventory, inventory.hardware[xname]))

    def _form(self, xname: str, alike: tuple[object, ...]) -> list[str]:
        place = self._places[xname]
        fru = {**self._frus[place["PopulatedFRU"]], "FRUID": _BLANK}
        info = fru[fru_key(fru["Type"])]
        if "SerialNumber" in info:
            fru[fru_key(fru["Type"])] = {**info, "SerialNumber": _BLANK}
        form = marshal({**place, "ID": _BLANK, "PopulatedFRU": fru}).split(_WRITTEN)
        self._forms[alike] = form
        return form


def listed(texts: Iterable[str]) -> Reply:
    """A list that may be long; a buffer gives away what it has without a copy."""
    buffer, comma = BytesIO(), b"["
    for text in texts:
        buffer.write(comma)
        buffer.write(utf8(text))
        comma = b","
    buffer.write(b"]\n" if comma == b"," else b"[]\n")
    return Reply(200, buffer.getvalue(), JSON)


def listed_records(records: Iterable[Json]) -> Reply:
    return listed(map(marshal, records))
