"""Names that exist in a machine, by the parameter or property of HPE's files that takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.seed_records import NID_MAP, NODE, OTHER, STORAGE_GROUP
from conformance.seeded_names import NAMES, fabric_manager_names
from csm_emulator.site import Site

Names = Mapping[str, Sequence[Any]]


def names_of(site: Site, service: str, path: str = "") -> Names:
    """By parameter in small letters. ``peer`` is the address of a client, ``/id`` a name for paths only."""
    places = _at_paths(site).get(service, {})
    narrower = {
        name: values for place, names in places.items() if path.startswith(place) for name, values in names.items()
    }
    return {
        **_everywhere(site),
        **_of_one(site).get(service, {}),
        **NAMES.get(service, {}),
        **narrower,
        **(fabric_manager_names(site, path) if service == "fabric-manager" else {}),
    }


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
        **dict.fromkeys(("xname_id", "hosts", "poweredby", "component_id", "node_list", "nodexname"), nodes),
        **dict.fromkeys(("targets", "redfish_ep"), controllers),
        **dict.fromkeys(("nid", "nids", "nid_start", "nid_end"), nids),
        **dict.fromkeys(("mac", "macs", "macaddress", "macaddr"), macs),
        **dict.fromkeys(("ipaddress", "ip_address", "ipaddr", "dhcp_address"), addresses),
        "ethinterfaceid": [mac.replace(":", "") for mac in macs],
        "group_label": [owner.label for owner in machine.topology.owners],
        "group": [owner.label for owner in machine.topology.owners],
        "peer": [nic.address for nic in machine.topology.nics if nic.network == "NMN" and nic.address],
        "network": [network.name for network in machine.topology.networks],
    }


def _of_one(site: Site) -> dict[str, Names]:
    """Names for the parameters that mean another thing at one service than at the others."""
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
        "console-operator": {"xname": [part.xname for part in site.machine.parts("Node")]},
        "fas": {
            "snapshotname": ["before"],
            "name": ["before", "after"],
            "confirm": ["yes"],
            "timelimit": [1000],
            "overridedryrun": [True, False],
        },
    }


def _at_paths(site: Site) -> dict[str, dict[str, Names]]:
    """Narrower names for paths that only some records of a kind have."""
    controllers = [part.xname for part in site.machine.parts("NodeBMC", "ChassisBMC", "RouterBMC")]
    nodes = [part.xname for part in site.machine.parts("Node")]
    card = next((nic for nic in site.machine.topology.nics if nic.address), None)
    one_card = {"ethinterfaceid": [card.mac.replace(":", "")], "ipaddress": [card.address]} if card else {}
    return {
        "smd": {
            "/Defaults/NodeMaps/": {"xname": [NID_MAP["ID"]]},
            "/sysinfo/powermaps/": {"xname": [NODE]},
            "/Inventory/RedfishEndpoints/": {"xname": controllers},
            "/Inventory/ServiceEndpoints/": {"xname": controllers},
            "/Inventory/EthernetInterfaces/{ethInterfaceID}/IPAddresses": one_card,
            "/groups/{group_label}/members/": {"xname_id": [NODE], "group_label": ["blue"]},
            "/partitions/{partition_name}/members/": {"xname_id": [NODE, OTHER]},
            "/State/Components/{xname}/": {"xname": nodes},
        },
        "sls": {"/hardware/": {"xname": [*nodes, STORAGE_GROUP, STORAGE_GROUP]}},
        "hbtd": {"/": {"xname": nodes}},
        "scsd": {"/bmc/bios/": {"xname": nodes, "bios_field": ["tpmstate"]}},
    }
