"""Names of things that are there, by the parameter or property of HPE's files that takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from canton.emulator.site import Site

Names = Mapping[str, Sequence[Any]]


def names_of(site: Site, service: str) -> Names:
    """Letter case does not count."""
    return {**_everywhere(site), **_of_one(site).get(service, {})}


def _everywhere(site: Site) -> Names:
    machine = site.machine
    nodes = [part.xname for part in machine.parts("Node")]
    controllers = [part.xname for part in machine.parts("NodeBMC", "ChassisBMC", "RouterBMC")]
    xnames = [*nodes, *controllers, *(part.xname for part in machine.parts())]
    macs = [nic.mac for nic in machine.topology.nics]
    addresses = [nic.address for nic in machine.topology.nics if nic.address]
    nids = [place.nid for place in machine.topology.places.values()]
    return {
        **dict.fromkeys(("xname", "id", "componentid", "xnames", "ids", "componentids", "parent", "parents"), xnames),
        **dict.fromkeys(("xname_id", "hosts", "poweredby"), nodes),
        **dict.fromkeys(("targets", "redfish_ep"), controllers),
        **dict.fromkeys(("nid", "nids", "nid_start", "nid_end"), nids),
        **dict.fromkeys(("mac", "macs", "macaddress", "macaddr"), macs),
        **dict.fromkeys(("ipaddress", "ip_address", "ipaddr", "dhcp_address"), addresses),
        "ethinterfaceid": [mac.replace(":", "") for mac in macs],
        "group_label": [owner.label for owner in machine.topology.owners],
        "group": [owner.label for owner in machine.topology.owners],
        "network": [network.name for network in machine.topology.networks],
    }


def _of_one(site: Site) -> dict[str, Names]:
    """Where one service calls a thing as no other does."""
    networks = [network.name for network in site.machine.topology.networks]
    aliases = [alias for place in site.machine.topology.places.values() for alias in place.aliases]
    controllers = [part.xname for part in site.machine.parts("NodeBMC", "RouterBMC")]
    return {
        "smd": {
            "service": ["UpdateService", "AccountService", "EventService"],
            "partition": ["p1"],
            "partition_name": ["p1"],
        },
        "sls": {"name": networks, "networks": ["HSN", "NMN"]},
        "bss": {"name": [part.xname for part in site.machine.parts("Node")] + aliases},
        "scsd": {"xname": controllers},
        "fas": {"snapshotname": ["before"], "name": ["before", "after"]},
    }
