"""What discovery found: Redfish endpoints, what they hold, the hardware, who has which MAC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.machine.lookup import Lookup
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json
from csm_emulator.services.smd.endpoints import seed_data as endpoint_seeds
from csm_emulator.services.smd.hardware.numbering import Numbering
from csm_emulator.services.smd.hardware.seed_data import FruSeeds, HardwareSeeds, HistorySeeds
from csm_emulator.services.smd.interfaces import seed_data as interface_seeds
from csm_emulator.state.tables import RecordTable


class Owners:
    """Which Ethernet interfaces belong to which component: found once, until one of them changes."""

    def __init__(self, interfaces: RecordTable) -> None:
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
    endpoints: RecordTable
    """Redfish endpoints by xname, as they stand on the wire."""
    component_endpoints: RecordTable
    """By xname, as they stand on the wire."""
    service_endpoints: RecordTable
    """By ``<service> <xname of the Redfish endpoint>``, as they stand on the wire."""
    hardware: RecordTable
    """By xname; ``PopulatedFRU`` is the FRU's id, on the wire the FRU itself stands there."""
    frus: RecordTable
    """By FRU id, as they stand on the wire."""
    history: RecordTable
    """By xname: what happened there, in order."""
    interfaces: RecordTable
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

    def control(self, parts: Iterable[Part]) -> Iterator[tuple[Json, Json]]:
        """The places of these parts and of what is in them, with their FRUs."""
        for part in parts:
            for xname in self.found.at(part):
                location = self.found[xname]
                yield location, self.found_frus[location["PopulatedFRU"]]


def open_inventory(context: Context) -> Inventory:
    tables, machine = context.tables, context.machine
    begun = float(tables.open("smd.begun").setdefault("moment", context.clock.now()))
    numbering = Numbering(machine, context.random)
    found, found_frus = HardwareSeeds(numbering), FruSeeds(numbering)
    interfaces = tables.open("smd.ethernet_interfaces", interface_seeds.InterfaceSeeds(machine, begun))
    components = tables.open("smd.component_endpoints", endpoint_seeds.component_seeds(context))
    return Inventory(
        tables.open("smd.redfish_endpoints", endpoint_seeds.redfish_seeds(context, begun)),
        components,
        tables.open("smd.service_endpoints", endpoint_seeds.ServiceSeeds(context)),
        tables.open("smd.hardware", found),
        tables.open("smd.frus", found_frus),
        tables.open("smd.hardware_history", HistorySeeds(numbering, begun)),
        interfaces,
        Owners(interfaces),
        Lookup(components, lambda: ((part.controller, part.xname) for part in machine.parts())),
        Lookup(interfaces, lambda: interface_seeds.addresses(machine)),
        begun,
        found,
        found_frus,
    )
