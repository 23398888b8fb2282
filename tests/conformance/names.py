"""Names of things that are there, by the parameter of HPE's files that takes them."""

from __future__ import annotations

from collections.abc import Sequence

from canton.emulator.site import Site


def names_of(site: Site) -> dict[str, Sequence[str]]:
    machine = site.machine
    parts = [part.xname for part in machine.parts()]
    controllers = [part.xname for part in machine.parts("NodeBMC", "ChassisBMC", "RouterBMC")]
    return {
        "xname": [*parts[:40], *controllers],
        "nid": [str(place.nid) for place in machine.topology.places.values()],
        "group_label": [owner.label for owner in machine.topology.owners],
        "xname_id": [part.xname for part in machine.parts("Node")],
        "ethInterfaceID": [nic.mac.replace(":", "") for nic in machine.topology.nics],
        "ipAddress": [nic.address for nic in machine.topology.nics if nic.address],
        "service": ["UpdateService", "AccountService", "EventService"],
        "network": [network.name for network in machine.topology.networks],
        "id": ["0"],
    }
