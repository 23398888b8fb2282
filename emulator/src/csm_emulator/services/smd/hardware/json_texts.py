"""The JSON of the hardware inventory, encoded place by place: a whole machine is 150 MB of text."""

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

_PLACEHOLDER = "\0"
_ENCODED_PLACEHOLDER = "\\u0000"
"""Marks where similar places differ; no text of the hardware inventory has a NUL in it."""


class HardwareTexts:
    """Encodes unchanged places by filling in a template, which is three times as fast."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._places: HardwareSeeds = inventory.hardware_seeds
        self._frus: FruSeeds = inventory.fru_seeds
        self._templates: dict[tuple[object, ...], list[str]] = {}

    def of(self, xname: str) -> str:
        """The JSON of the place with its FRU."""
        inventory = self._inventory
        if inventory.hardware.is_unchanged(xname):
            fru, serial, template_key = self._places.distinct_parts(xname)
            if inventory.frus.is_unchanged(fru):
                head, middle, tail, *after_serial = self._templates.get(template_key) or self._template(
                    xname, template_key
                )
                text = f"{head}{xname}{middle}{fru}{tail}"
                return f"{text}{serial}{after_serial[0]}" if after_serial else text
        return marshal(on_wire(inventory, inventory.hardware[xname]))

    def _template(self, xname: str, template_key: tuple[object, ...]) -> list[str]:
        place = self._places[xname]
        fru = {**self._frus[place["PopulatedFRU"]], "FRUID": _PLACEHOLDER}
        info = fru[fru_key(fru["Type"])]
        if "SerialNumber" in info:
            fru[fru_key(fru["Type"])] = {**info, "SerialNumber": _PLACEHOLDER}
        parts = marshal({**place, "ID": _PLACEHOLDER, "PopulatedFRU": fru}).split(_ENCODED_PLACEHOLDER)
        self._templates[template_key] = parts
        return parts


def array_reply(texts: Iterable[str]) -> Reply:
    """The reply with a list that may be long; ``BytesIO.getvalue`` returns its bytes without a copy."""
    buffer, comma = BytesIO(), b"["
    for text in texts:
        buffer.write(comma)
        buffer.write(utf8(text))
        comma = b","
    buffer.write(b"]\n" if comma == b"," else b"[]\n")
    return Reply(200, buffer.getvalue(), JSON)


def records_reply(records: Iterable[Json]) -> Reply:
    return array_reply(map(marshal, records))
