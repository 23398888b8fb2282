"""Names of the seeded records, by the parameter or property that takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance import seed_records_fabric as fabric
from conformance import seed_records_software as software
from csm_emulator.site import Site

Names = Mapping[str, Sequence[Any]]

_CONFIGURATIONS = [software.CONFIGURATION, software.SPARE_CONFIGURATION]
_SOURCES = [software.SOURCE, software.SPARE_SOURCE]
_CLONE_URLS = [software.CLONE_URL]
_TEMPLATES = [software.TEMPLATE, software.SPARE_TEMPLATE]
_SESSIONS = [software.SESSION, software.STAGED_SESSION]

NAMES: dict[str, Names] = {
    "bos": {
        "session_template_id": _TEMPLATES,
        "template_name": _TEMPLATES,
        "session_id": _SESSIONS,
        "session": _SESSIONS,
        "type": ["s3"],
        "node_groups": ["blue", "green"],
    },
    "cfs": {
        "session_name": [software.SESSION],
        **dict.fromkeys(("configuration_id", "configurationname", "configuration_name"), _CONFIGURATIONS),
        **dict.fromkeys(("desiredconfig", "desired_config", "configname", "config_name"), _CONFIGURATIONS),
        **dict.fromkeys(("source_id", "source"), _SOURCES),
        **dict.fromkeys(("cloneurl", "clone_url"), _CLONE_URLS),
        "commit": [software.COMMIT],
        "branch": ["main"],
    },
    "ims": {"remote_build_node_xname": [software.BUILDER]},
    "vnid": {
        "partition": [fabric.PARTITION],
        "pool": [fabric.POOL, fabric.SPARE_POOL],
        "pools": [fabric.POOL],
        "job": [fabric.JOB],
        "jobid": [fabric.JOB, "100"],
        "uid": [fabric.UID],
        "vnicount": [0, 1, 2],
    },
    "console-operator": {"podid": ["cray-console-node-0", "cray-console-node-1"]},
}


def fabric_manager_names(site: Site, path: str) -> Names:
    """Names for one path: ``name`` and ``id`` mean another thing on each path of the Fabric Manager."""
    ports = fabric.edge_ports(site)
    dfas = list(ports.values())
    places: dict[str, Names] = {
        "/fabric/switches/": {"switch": [part.xname for part in site.machine.parts("RouterBMC")]},
        "/fabric/ports/": {"port": list(ports)},
        "/fabric/port-policies/": {"name": [fabric.POLICY, "edge-policy"]},
        "/fabric/vlans/": {"id": [fabric.SPARE_VLAN, fabric.VLAN]},
        "/fabric/vni/partitions/": {"name": [fabric.PARTITION, fabric.SPARE_PARTITION]},
        "/fabric/vni/blocks/": {"name": [fabric.BLOCK]},
        "/fabric/vni/block-enforcement-tasks/": {"id": [fabric.enforcement_task(site)]},
        "/fabric/collectives/jobs/": {"job": [fabric.JOB]},
        "/port-sets/": {"set": ["fabric-ports", "edge-ports"]},
    }
    links: Names = {
        "portpolicylinks": [f"/fabric/port-policies/{name}" for name in (fabric.POLICY, "edge-policy")],
        "allowedvlans": [f"/fabric/vlans/{vlan}" for vlan in (fabric.VLAN, fabric.SPARE_VLAN)],
        "nativevlanid": [f"/fabric/vlans/{fabric.VLAN}"],
        "partitionname": [fabric.PARTITION],
        "edgeportdfas": dfas,
        "portdfas": dfas[:2],
        "vniranges": ["2000-2004", "2005-2009"],
    }
    narrower = next((names for place, names in places.items() if path.startswith(place)), {})
    return {**links, **narrower}
