"""The Redfish endpoints of a discovered machine, with their components and services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from csm_emulator.context import Context
from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.discovery import redfish_view
from csm_emulator.state.tables import RecordTable


class _RecordByPart(Mapping[str, Json]):
    """A record for each of the parts, computed when it is read."""

    def __init__(self, parts: Iterable[Part], record: Callable[[Part], Json]) -> None:
        self._parts = {part.xname: part for part in parts}
        self._record = record

    def __getitem__(self, xname: str) -> Json:
        return self._record(self._parts[xname])

    def __contains__(self, xname: object) -> bool:
        return xname in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def redfish_seeds(context: Context, discovery_time: float) -> Mapping[str, Json]:
    def discovered(part: Part) -> Json:
        return redfish_view.discovered(context, redfish_view.new_endpoint(context, part), discovery_time)

    return _RecordByPart((part for part in context.machine.parts() if part.type in CONTROLLERS), discovered)


def component_seeds(context: Context) -> Mapping[str, Json]:
    parts = (part for part in context.machine.parts() if redfish_view.in_redfish(part))
    return _RecordByPart(parts, partial(redfish_view.component_endpoint, context))


def service_keys(xnames: Iterable[str]) -> Iterator[str]:
    """The keys of the services of these endpoints."""
    return (f"{service} {xname}" for xname in xnames for service in redfish_view.SERVICES)


def service_keys_of(services: RecordTable[Record], xnames: Iterable[str]) -> Iterator[str]:
    """The keys of the services of these endpoints, and of all services that were added later."""
    return services.keys_in_order(key for key in service_keys(dict.fromkeys(xnames)) if key in services.seed)


class ServiceSeeds(Mapping[str, Json]):
    """The service endpoints by ``<service> <xname>``."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._xnames = {part.xname: None for part in context.machine.parts() if part.type in CONTROLLERS}

    def __getitem__(self, name: str) -> Json:
        service, _, xname = name.partition(" ")
        if service not in redfish_view.SERVICES or xname not in self._xnames:
            raise KeyError(name)
        return redfish_view.service_endpoint(self._context, service, xname)

    def __iter__(self) -> Iterator[str]:
        return service_keys(self._xnames)

    def __len__(self) -> int:
        return len(self._xnames) * len(redfish_view.SERVICES)
