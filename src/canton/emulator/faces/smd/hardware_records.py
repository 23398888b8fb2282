"""Places with what is in them, and what happened there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from canton.emulator.faces.smd.inventory import Inventory
from canton.emulator.machine.clock import rfc3339
from canton.emulator.wire.call import Json
from canton.emulator.wire.hms_names import hms_type

_LETTER = re.compile("[a-z]")


def on_wire(inventory: Inventory, location: Json) -> Json:
    """With the FRU itself in place of its id."""
    fru = location["PopulatedFRU"]
    if fru is None:
        return {name: value for name, value in location.items() if name != "PopulatedFRU"}
    return {**location, "PopulatedFRU": inventory.frus[fru]}


def within(inventory: Inventory, xnames: Iterable[str]) -> list[str]:
    """The places of these xnames, and those inside them."""
    places = set(xnames)
    return [xname for xname in inventory.hardware if lies_in(xname, places)] if places else []


def below(xnames: Iterable[str], place: str) -> Iterable[str]:
    """Of these the place, and those inside it."""
    end = len(place)
    return (xname for xname in xnames if xname.startswith(place) and (len(xname) == end or not xname[end].isdigit()))


def lies_in(xname: str, places: set[str]) -> bool:
    """Whether the xname is one of the places, or inside one."""
    return xname in places or any(xname[: letter.start()] in places for letter in _LETTER.finditer(xname))


def store(inventory: Inventory, found: Sequence[tuple[Json, Json]], moment: float) -> None:
    """Places and their FRUs; that they were found is written down, unless it was the last thing written.

    Of several with one name the first is stored, and all are in the history.
    """
    last = {place["ID"]: (inventory.history.get(place["ID"]) or [{}])[-1] for place, _ in found}
    for place, fru in reversed(found):
        inventory.frus[fru["FRUID"]] = fru
        inventory.hardware[place["ID"]] = {**place, "PopulatedFRU": fru["FRUID"]}
    for place, fru in found:
        before = last[place["ID"]]
        if (before.get("FRUID"), before.get("EventType")) != (fru["FRUID"], "Detected"):
            note(inventory, place["ID"], fru["FRUID"], "Detected", moment)


def note(inventory: Inventory, xname: str, fru: str, event: str, moment: float) -> None:
    entry = {"ID": xname, "FRUID": fru, "Timestamp": rfc3339(moment), "EventType": event}
    inventory.history[xname] = [*inventory.history.get(xname, ()), entry]


@lru_cache(maxsize=1 << 8)
def _kind_of_letters(letters: str) -> str:
    found = (hms_type("".join(f"{letter}{ordinal}" for letter in letters)) for ordinal in (0, 1))
    return next(filter(None, found), "")


_DIGITS = str.maketrans("", "", "0123456789")


def quick_kind(xname: str) -> str:
    """Of an xname that is one: the letters tell."""
    return _kind_of_letters(xname.translate(_DIGITS))
