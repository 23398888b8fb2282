"""Places with their FRUs, and the history of places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.smd.hardware.numbering import lineage
from csm_emulator.services.smd.hardware.seed_data import HistoryEvent
from csm_emulator.services.smd.inventory import Inventory
from csm_emulator.state.clock import rfc3339

MAX_SEPARATE_LOOKUPS = 100
"""Up to this number of places, separate lookups are faster than a pass over all hardware."""


def on_wire(inventory: Inventory, location: Json) -> Json:
    """The place with its FRU instead of the id of the FRU."""
    fru = location["PopulatedFRU"]
    if fru is None:
        return {name: value for name, value in location.items() if name != "PopulatedFRU"}
    return {**location, "PopulatedFRU": inventory.frus[fru]}


def within(inventory: Inventory, places: Iterable[str]) -> list[str]:
    """The xnames of the hardware at these places and inside them."""
    roots = dict.fromkeys(places)
    if len(roots) > MAX_SEPARATE_LOOKUPS:
        candidates: Iterable[str] = inventory.hardware
    else:
        seed_keys = dict.fromkeys(xname for place in roots for xname in inventory.hardware_seeds.below(place))
        candidates = inventory.hardware.keys_in_order(seed_keys)
    return [xname for xname in candidates if any(ancestor in roots for ancestor in lineage(xname))]


def store(inventory: Inventory, records: Sequence[tuple[Json, Json]], now: float) -> None:
    """Store places and their FRUs, with an event "Detected" unless that is the last event of the place already.

    Of several records with one xname the first is stored, and all are in the history.
    """
    last = {place["ID"]: inventory.history.get(place["ID"], [])[-1:] for place, _ in records}
    for place, fru in reversed(records):
        inventory.frus[fru["FRUID"]] = fru
        inventory.hardware[place["ID"]] = {**place, "PopulatedFRU": fru["FRUID"]}
    for place, fru in records:
        detected = [(event["FRUID"], event["EventType"]) for event in last[place["ID"]]]
        if detected != [(fru["FRUID"], "Detected")]:
            add_history_event(inventory, place["ID"], fru["FRUID"], "Detected", now)


def add_history_event(inventory: Inventory, xname: str, fru: str, event: str, now: float) -> None:
    entry = HistoryEvent(ID=xname, FRUID=fru, Timestamp=rfc3339(now), EventType=event)
    inventory.history[xname] = [*inventory.history.get(xname, ()), entry]


@lru_cache(maxsize=1 << 8)
def _kind_of_letters(letters: str) -> str:
    types = (hms_type("".join(f"{letter}{ordinal}" for letter in letters)) for ordinal in (0, 1))
    return next(filter(None, types), "")


_DIGITS = str.maketrans("", "", "0123456789")


def quick_kind(xname: str) -> str:
    """The type of a valid xname, which its letters determine."""
    return _kind_of_letters(xname.translate(_DIGITS))
