"""Records that are put into the Fabric Manager and VNID before they are examined."""

from __future__ import annotations

from collections.abc import Callable

from conformance.seeding import SeededNames, put
from csm_emulator.site import Site

VLAN, SPARE_VLAN = 100, 200
POLICY = "mine"
PARTITION, SPARE_PARTITION, BLOCK, JOB = "blue", "spare", "blue-1", "slurm-1"
POOL, SPARE_POOL, UID = "applications", "spare", 1000


def edge_ports(site: Site) -> dict[str, int]:
    """The fabric address of each port that leads to a node, by xname."""
    return {port.xname: port.dfa for port in site.machine.fabric.plan.ports.values() if port.edge}


def enforcement_task(site: Site) -> str:
    block = put(site, "fabric-manager", f"GET /fabric/vni/blocks/{BLOCK}", None)
    return str(block["enforcementTaskServiceLink"]).rpartition("/")[2]


def _fabric_manager(site: Site) -> SeededNames:
    dfas = list(edge_ports(site).values())[:2]
    for vlan in (VLAN, SPARE_VLAN):
        put(site, "fabric-manager", "POST /fabric/vlans", {"id": vlan, "name": f"v{vlan}"})
    policy = {"documentSelfLink": POLICY, "state": "ONLINE", "nativeVlanId": f"/fabric/vlans/{VLAN}"}
    put(site, "fabric-manager", "POST /fabric/port-policies", policy)
    ranges = {PARTITION: "2000-2999", SPARE_PARTITION: "3000-3999"}
    for name, span in ranges.items():
        partition = {"partitionName": name, "vniRanges": [span], "edgePortDFAs": dfas}
        put(site, "fabric-manager", "POST /fabric/vni/partitions", partition)
    block = {"vniBlockName": BLOCK, "partitionName": PARTITION, "vniRanges": ["2000-2009"], "portDFAs": dfas}
    put(site, "fabric-manager", "POST /fabric/vni/blocks", block)
    put(site, "fabric-manager", "POST /fabric/collectives/jobs", {"jobID": JOB, "mcastLimit": 4})
    site.step(10.0)
    yield from ()


def _vnid(site: Site) -> SeededNames:
    partition = {"partitionName": PARTITION, "description": "of a test", "vniFirst": 2000, "vniLast": 2999}
    put(site, "vnid", "POST /fabric/vnis", partition)
    for number, name in enumerate((POOL, SPARE_POOL)):
        pool = {"name": name, "vniFirst": 2500 + 100 * number, "vniLast": 2599 + 100 * number}
        put(site, "vnid", f"POST /fabric/vnis/{PARTITION}/pools", pool)
    put(site, "vnid", f"POST /fabric/vnis/{PARTITION}/jobs", {"jobID": JOB, "UID": UID, "mcastLimit": 4})
    steps = {"vniCount": 2, "jobID": JOB, "UID": UID, "jobStepID": "0"}
    for link in put(site, "vnid", f"POST /fabric/vnis/{PARTITION}/vnis", steps)["documentSelfLinks"]:
        yield "/vni", link.rpartition("/")[2]


SEEDERS: dict[str, Callable[[Site], SeededNames]] = {"fabric-manager": _fabric_manager, "vnid": _vnid}
