"""The hardware inventory of a discovered machine; each record is computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

from csm_emulator.dialects.go_json.types import encode
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json
from csm_emulator.services.smd.discovery.redfish_paths import redfish_id
from csm_emulator.services.smd.hardware.locations import place_facts
from csm_emulator.services.smd.hardware.numbering import Item, Numbering
from csm_emulator.services.smd.hardware.types import TYPES, fru_key, place_key, stem
from csm_emulator.state.clock import rfc3339


def _shared_facts_key(item: Item, ordinal: int) -> tuple[object, ...]:
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
        """The location info: one object for all places that share their facts."""
        key = _shared_facts_key(item, ordinal)
        location = self._places.get(key)
        if location is None:
            facts = place_facts(item.kind, ordinal, item.part, item.fru)
            location = self._places[key] = encode(facts, TYPES[item.kind][0])
        return location

    def distinct_parts(self, xname: str) -> tuple[str, str, tuple[object, ...]]:
        """FRU id, serial number, and a key that is the same for all places that differ only in those and the xname."""
        item = self._numbering.item(xname)
        return self._numbering.fru_id(item), item.serial, _shared_facts_key(item, item.ordinal)

    def places_of(self, part: Part) -> Iterator[str]:
        """The place of the part and the places inside it."""
        return self._numbering.places(part)

    def below(self, place: str) -> Iterator[str]:
        return self._numbering.below(place)

    def with_fru(self, name: str) -> str | None:
        """The place of this FRU."""
        try:
            return self._numbering.with_fru_id(name).xname
        except KeyError:
            return None

    def fru_at(self, xname: str) -> str:
        """The id of the FRU in a place."""
        return self._numbering.fru_id(self._numbering.item(xname))

    def with_serial(self, serial: str) -> str | None:
        """The place of the FRU with this serial number."""
        try:
            return self._numbering.with_serial(serial).xname
        except KeyError:
            return None

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
        key = (item.kind, id(item.fru), id(model))
        if key not in self._infos:
            facts = {
                **item.fru.facts,
                "Model": item.fru.model,
                "Manufacturer": item.fru.manufacturer,
                "PartNumber": item.fru.part_number,
            }
            if model:
                facts |= {"BiosVersion": model.firmware.get("BIOS", ""), "SystemType": "Physical"}
            self._infos[key] = encode(facts, TYPES[item.kind][1])
        info = self._infos[key]
        return {**info, "SerialNumber": item.serial} if "SerialNumber" in info else info

    def __iter__(self) -> Iterator[str]:
        return self._numbering.fru_ids()

    def __len__(self) -> int:
        return self._numbering.total


class HistoryEvent(TypedDict):
    """In the form of the API."""

    ID: str
    FRUID: str
    Timestamp: str
    EventType: str


class HistorySeeds(Mapping[str, list[HistoryEvent]]):
    """Every place has one event: its FRU was detected."""

    def __init__(self, numbering: Numbering, discovery_time: float) -> None:
        self._numbering = numbering
        self._timestamp = rfc3339(discovery_time)

    def __getitem__(self, xname: str) -> list[HistoryEvent]:
        fru = self._numbering.fru_id(self._numbering.item(xname))
        return [{"ID": xname, "FRUID": fru, "Timestamp": self._timestamp, "EventType": "Detected"}]

    def __contains__(self, xname: object) -> bool:
        return isinstance(xname, str) and xname in self._numbering

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbering)

    def __len__(self) -> int:
        return self._numbering.total
