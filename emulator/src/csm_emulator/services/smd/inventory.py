"""The result of discovery: Redfish endpoints, their components and services, the hardware, Ethernet interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.machine.lookup import Lookup
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.endpoints import seed_data as endpoint_seeds
from csm_emulator.services.smd.hardware.numbering import Numbering
from csm_emulator.services.smd.hardware.seed_data import FruSeeds, HardwareSeeds, HistoryEvent, HistorySeeds
from csm_emulator.services.smd.interfaces import seed_data as interface_seeds
from csm_emulator.state.tables import RecordTable


class InterfaceOwners:
    """The Ethernet interfaces of each component; computed once, and again after a change of an interface."""

    def __init__(self, interfaces: RecordTable[Record]) -> None:
        self._interfaces = interfaces
        self._interfaces_by_component: dict[str, list[str]] = {}

    def interfaces_of(self, xname: str) -> list[str]:
        if not self._interfaces_by_component:
            for name, record in self._interfaces.items():
                self._interfaces_by_component.setdefault(record["ComponentID"], []).append(name)
        return self._interfaces_by_component.get(xname, [])

    def clear(self) -> None:
        self._interfaces_by_component = {}


@dataclass(frozen=True, slots=True)
class Inventory:
    endpoints: RecordTable[Record]
    """Redfish endpoints by xname, in the form of the API."""
    component_endpoints: RecordTable[Record]
    """By xname, in the form of the API."""
    service_endpoints: RecordTable[Record]
    """By ``<service> <xname of the Redfish endpoint>``, in the form of the API."""
    hardware: RecordTable[Record]
    """By xname; ``PopulatedFRU`` is the id of the FRU, which the API replaces by the FRU itself."""
    frus: RecordTable[Record]
    """By FRU id, in the form of the API."""
    history: RecordTable[list[HistoryEvent]]
    """By xname: the events at that place, in order of time."""
    interfaces: RecordTable[Record]
    """Ethernet interfaces by MAC without colons, in the form of the API."""
    owners: InterfaceOwners
    by_endpoint: Lookup
    """Component endpoints by their Redfish endpoint."""
    by_address: Lookup
    """Ethernet interfaces by IP address."""
    discovery_time: float
    """When the machine was first discovered, in seconds since 1970."""
    hardware_seeds: HardwareSeeds
    """The hardware that is in the machine, whatever the tables say."""
    fru_seeds: FruSeeds

    def components_of(self, endpoints: Iterable[str]) -> list[str]:
        """The component endpoints of these Redfish endpoints."""
        endpoint_ids = set(endpoints)
        candidates = self.by_endpoint.candidates(endpoint_ids)
        return [xname for xname in candidates if self.component_endpoints[xname]["RedfishEndpointID"] in endpoint_ids]

    def places_and_frus(self, parts: Iterable[Part]) -> Iterator[tuple[Json, Json]]:
        """The places of these parts and of the hardware inside them, with their FRUs."""
        for part in parts:
            for xname in self.hardware_seeds.places_of(part):
                location = self.hardware_seeds[xname]
                yield location, self.fru_seeds[location["PopulatedFRU"]]


def open_inventory(context: Context) -> Inventory:
    tables, machine = context.tables, context.machine
    beginning: RecordTable[float] = tables.open("smd.begun")
    discovery_time = beginning.setdefault("moment", context.clock.now())
    numbering = Numbering(machine, context.random)
    hardware_seeds, fru_seeds = HardwareSeeds(numbering), FruSeeds(numbering)
    interfaces = tables.open("smd.ethernet_interfaces", interface_seeds.InterfaceSeeds(machine, discovery_time))
    components = tables.open("smd.component_endpoints", endpoint_seeds.component_seeds(context))
    return Inventory(
        tables.open("smd.redfish_endpoints", endpoint_seeds.redfish_seeds(context, discovery_time)),
        components,
        tables.open("smd.service_endpoints", endpoint_seeds.ServiceSeeds(context)),
        tables.open("smd.hardware", hardware_seeds),
        tables.open("smd.frus", fru_seeds),
        tables.open("smd.hardware_history", HistorySeeds(numbering, discovery_time)),
        interfaces,
        InterfaceOwners(interfaces),
        Lookup(components, lambda: ((part.controller, part.xname) for part in machine.parts())),
        Lookup(interfaces, lambda: interface_seeds.addresses(machine)),
        discovery_time,
        hardware_seeds,
        fru_seeds,
    )
