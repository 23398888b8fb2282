"""After the deletion of an endpoint its components are Empty, and their hardware is removed."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.hardware.records import add_history_event, within


def empty_children(hsm: Hsm, endpoints: Iterable[str]) -> None:
    """Empty the components of these Redfish endpoints, and remove the hardware inside them."""
    emptied = empty_components(hsm, hsm.inventory.components_of(endpoints))
    inventory = hsm.inventory
    for xname in within(inventory, emptied):
        fru = inventory.hardware.pop(xname)["PopulatedFRU"]
        if fru:
            add_history_event(inventory, xname, fru, "Removed", hsm.context.clock.now())


def empty_components(hsm: Hsm, xnames: Iterable[str]) -> list[str]:
    """Returns the components that were not empty before; subscribers are notified of them."""
    emptied = []
    for xname in xnames:
        record = hsm.components.get(xname)
        if record and (record.get("State"), record.get("Flag")) != ("Empty", "OK"):
            hsm.put_component({**record, "State": "Empty", "Flag": "OK"})
            emptied.append(xname)
    hsm.notify(emptied, {"State": "Empty", "Flag": "OK"})
    return emptied
