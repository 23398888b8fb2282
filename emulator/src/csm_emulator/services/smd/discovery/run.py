"""Discovery: read a controller over Redfish, which takes some seconds, and store its data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.machine.parts import Part
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.discovery import redfish_view
from csm_emulator.services.smd.discovery.component_states import discovered_component
from csm_emulator.services.smd.hardware.records import store
from csm_emulator.services.smd.interfaces import seed_data as interface_seeds
from csm_emulator.state.clock import rfc3339

STARTED, OK, UNREACHABLE = "DiscoveryStarted", "DiscoverOK", "HTTPsGetFailed"
DURATION = (3.0, 12.0)
"""Shortest and longest time in seconds that the reading of a controller takes."""
TIMEOUT = 20.0
"""Seconds after which SMD gives up on a silent controller: an HTTP timeout and a retry. (pkg/redfish rfclient.go)"""
KIND = "smd.discovered"


class Discoverer:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._endpoints = hsm.inventory.endpoints

    def start(self, xnames: Iterable[str], *, force: bool = False) -> None:
        """Start the discovery of enabled endpoints; without ``force`` not of those whose discovery is running."""
        context = self._hsm.context
        for xname in xnames:
            endpoint = self._endpoints[xname]
            busy = endpoint["DiscoveryInfo"]["LastDiscoveryStatus"] == STARTED
            if not endpoint["Enabled"] or (busy and not force):
                continue
            self._mark(endpoint, STARTED)
            reachable = context.machine.power.reachable(xname)
            duration = (
                context.random.between(*DURATION, "discovery", xname, context.clock.now()) if reachable else TIMEOUT
            )
            context.scheduler.after(duration, KIND, xname)

    def _mark(self, endpoint: Json, status: str) -> None:
        info = {
            **endpoint["DiscoveryInfo"],
            "LastDiscoveryAttempt": redfish_view.attempt_time(self._hsm.context.clock.now()),
            "LastDiscoveryStatus": status,
        }
        order = ("LastDiscoveryAttempt", "LastDiscoveryStatus", "RedfishVersion")
        ordered = {name: info[name] for name in order if name in info}
        self._endpoints[endpoint["ID"]] = {**endpoint, "DiscoveryInfo": ordered}

    def finish(self, xname: str) -> None:
        """Store the result of a discovery: the data of the controller, or that it was unreachable."""
        endpoint = self._endpoints.get(xname)
        if endpoint is None or endpoint["DiscoveryInfo"]["LastDiscoveryStatus"] != STARTED:
            return
        if not self._hsm.context.machine.power.reachable(xname):
            self._mark(endpoint, UNREACHABLE)
            return
        self._endpoints[xname] = redfish_view.discovered(self._hsm.context, endpoint, self._hsm.context.clock.now())
        self._store(endpoint)

    def _store(self, endpoint: Json) -> None:
        machine = self._hsm.context.machine
        parts = [
            part for part in machine.parts() if part.controller == endpoint["ID"] and redfish_view.in_redfish(part)
        ]
        fresh = [part for part in parts if not self._hsm.context.faults.present("stale-inventory", part.xname)]
        inventory = self._hsm.inventory
        for part in fresh:
            inventory.component_endpoints[part.xname] = redfish_view.component_endpoint(
                self._hsm.context, part, endpoint["FQDN"]
            )
        for service in redfish_view.SERVICES:
            inventory.service_endpoints[f"{service} {endpoint['ID']}"] = redfish_view.service_endpoint(
                self._hsm.context, service, endpoint["ID"], endpoint["FQDN"]
            )
        self._store_hardware(fresh)
        self._store_interfaces(fresh)
        self._store_components(fresh)

    def _store_hardware(self, parts: Sequence[Part]) -> None:
        store(self._hsm.inventory, list(self._hsm.inventory.places_and_frus(parts)), self._hsm.context.clock.now())

    def _store_interfaces(self, parts: Sequence[Part]) -> None:
        """New interfaces have no address, except the endpoint's own; existing ones change only their component."""
        inventory, context = self._hsm.inventory, self._hsm.context
        now = rfc3339(context.clock.now())
        for part in parts:
            for nic in context.machine.nics(part.xname):
                new = interface_seeds.interface(nic, part.type, now)
                old = inventory.interfaces.get(new["ID"])
                if old is None:
                    old = new if part.xname == part.controller else {**new, "IPAddresses": []}
                inventory.interfaces[new["ID"]] = {**old, "ComponentID": new["ComponentID"], "Type": new["Type"]}
        inventory.owners.clear()

    def _store_components(self, parts: Sequence[Part]) -> None:
        changed: dict[str, list[str]] = {}
        for part in parts:
            old = self._hsm.components.get(part.xname)
            new = discovered_component(self._hsm, part, old)
            if old is None or (old["State"], old["Flag"]) != (new["State"], new["Flag"]):
                changed.setdefault(new["State"], []).append(part.xname)
            self._hsm.put_component(new)
        for state, xnames in changed.items():
            self._hsm.notify(xnames, {"State": state})
