"""Places with what is in them, and what happened there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from canton.emulator.faces.smd.inventory import Inventory
from canton.emulator.machine.clock import rfc3339
from canton.emulator.wire.call import Json

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


def lies_in(xname: str, places: set[str]) -> bool:
    """Whether the xname is one of the places, or inside one."""
    return xname in places or any(xname[: letter.start()] in places for letter in _LETTER.finditer(xname))


def store(inventory: Inventory, location: Json, fru: Json, moment: float) -> None:
    """Put it in, and write down that it was found, unless that was the last thing written."""
    xname = location["ID"]
    inventory.frus[fru["FRUID"]] = fru
    inventory.hardware[xname] = {**location, "PopulatedFRU": fru["FRUID"]}
    last = (inventory.history.get(xname) or [{}])[-1]
    if (last.get("FRUID"), last.get("EventType")) != (fru["FRUID"], "Detected"):
        note(inventory, xname, fru["FRUID"], "Detected", moment)


def note(inventory: Inventory, xname: str, fru: str, event: str, moment: float) -> None:
    entry = {"ID": xname, "FRUID": fru, "Timestamp": rfc3339(moment), "EventType": event}
    inventory.history[xname] = [*inventory.history.get(xname, ()), entry]
