"""What discovery found: Redfish endpoints, what they hold, the hardware, who has which MAC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from csm_emulator.context import World
from csm_emulator.machine.lookup import Lookup
from csm_emulator.machine.parts import Part
from csm_emulator.services.smd.endpoints import seed_data as endpoint_seeds
from csm_emulator.services.smd.hardware.numbering import Numbering
from csm_emulator.services.smd.hardware.seed_data import FruSeeds, HardwareSeeds, HistorySeeds
from csm_emulator.services.smd.interfaces import seed_data as interface_seeds
from csm_emulator.state.tables import Shelf
from csm_emulator.transport.call import Json


class Owners:
    """Which Ethernet interfaces belong to which component: found once, until one of them changes."""

    def __init__(self, interfaces: Shelf) -> None:
        self._interfaces = interfaces
        self._of: dict[str, list[str]] = {}

    def of(self, xname: str) -> list[str]:
        if not self._of:
            for name, record in self._interfaces.items():
                self._of.setdefault(record["ComponentID"], []).append(name)
        return self._of.get(xname, [])

    def forget(self) -> None:
        self._of = {}


@dataclass(frozen=True, slots=True)
class Inventory:
    endpoints: Shelf
    """Redfish endpoints by xname, as they stand on the wire."""
    component_endpoints: Shelf
    """By xname, as they stand on the wire."""
    service_endpoints: Shelf
    """By ``<service> <xname of the Redfish endpoint>``, as they stand on the wire."""
    hardware: Shelf
    """By xname; ``PopulatedFRU`` is the FRU's id, on the wire the FRU itself stands there."""
    frus: Shelf
    """By FRU id, as they stand on the wire."""
    history: Shelf
    """By xname: what happened there, in order."""
    interfaces: Shelf
    """Ethernet interfaces by MAC without colons, as they stand on the wire."""
    owners: Owners
    by_endpoint: Lookup
    """Component endpoints by the Redfish endpoint that holds them."""
    by_address: Lookup
    """Ethernet interfaces by IP address."""
    begun: float
    """When the machine was first discovered."""
    found: HardwareSeeds
    """What really is where."""
    found_frus: FruSeeds

    def held_by(self, endpoints: Iterable[str]) -> list[str]:
        """The component endpoints of these Redfish endpoints."""
        holders = set(endpoints)
        candidates = self.by_endpoint.candidates(holders)
        return [xname for xname in candidates if self.component_endpoints[xname]["RedfishEndpointID"] in holders]

    def truth(self, parts: Iterable[Part]) -> Iterator[tuple[Json, Json]]:
        """The places of these parts and of what is in them, with their FRUs."""
        for part in parts:
            for xname in self.found.at(part):
                location = self.found[xname]
                yield location, self.found_frus[location["PopulatedFRU"]]


def open_inventory(world: World) -> Inventory:
    shelves, machine = world.shelves, world.machine
    begun = float(shelves.open("smd.begun").setdefault("moment", world.clock.now()))
    numbering = Numbering(machine, world.dice)
    found, found_frus = HardwareSeeds(numbering), FruSeeds(numbering)
    interfaces = shelves.open("smd.ethernet_interfaces", interface_seeds.InterfaceSeeds(machine, begun))
    components = shelves.open("smd.component_endpoints", endpoint_seeds.component_seeds(world))
    return Inventory(
        shelves.open("smd.redfish_endpoints", endpoint_seeds.redfish_seeds(world, begun)),
        components,
        shelves.open("smd.service_endpoints", endpoint_seeds.ServiceSeeds(world)),
        shelves.open("smd.hardware", found),
        shelves.open("smd.frus", found_frus),
        shelves.open("smd.hardware_history", HistorySeeds(numbering, begun)),
        interfaces,
        Owners(interfaces),
        Lookup(components, lambda: ((part.controller, part.xname) for part in machine.parts())),
        Lookup(interfaces, lambda: interface_seeds.addresses(machine)),
        begun,
        found,
        found_frus,
    )
