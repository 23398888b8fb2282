"""Bodies that the Fabric Manager, VNID and console-operator take, by operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.seed_records_fabric import JOB, PARTITION, POLICY, POOL, SPARE_VLAN, UID, VLAN

Samples = Mapping[str, Sequence[Any]]

_RETRY = {"enabled": True, "always": False, "num_retries": 3, "duration_sec": 60}
_POLICY = {
    "state": "ONLINE",
    "speed": "BS_200G",
    "autoneg": True,
    "flowControl": {"rx": True, "tx": False},
    "autoRetry": _RETRY,
    "allowedVlans": [f"/fabric/vlans/{VLAN}", f"/fabric/vlans/{SPARE_VLAN}"],
    "nativeVlanId": f"/fabric/vlans/{VLAN}",
    "isUntaggedAllowed": True,
}

SAMPLES: dict[str, Samples] = {
    "fabric-manager": {
        "PATCH /fabric/ports/{port}": [
            {"portPolicyLinks": [f"/fabric/port-policies/{name}" for name in (POLICY, "edge-policy")]},
            {"portPolicyLinks": []},
        ],
        "POST /fabric/port-policies": [_POLICY | {"documentSelfLink": "another"}, _POLICY],
        "PATCH /fabric/port-policies/{name}": [{"state": "OFFLINE"}, _POLICY],
        "POST /fabric/vlans": [{"id": number, "name": f"v{number}"} for number in (300, 301, 302, 303)],
        "POST /fabric/vni/partitions": [
            {"partitionName": "red", "vniRanges": ["4000-4999"]},
            {"partitionName": "green", "vniCount": 100},
        ],
        "PATCH /fabric/vni/partitions/{name}": [{"vniRanges": ["2000-2999", "5000-5099"]}, {"edgePortDFAs": []}],
        "POST /fabric/vni/blocks": [
            {"vniBlockName": name, "partitionName": PARTITION, "vniRanges": ["2010-2019"]} for name in ("b2", "b3")
        ],
        "PATCH /fabric/vni/blocks/{name}": [{"vniRanges": ["2000-2099"]}, {"portDFAs": []}],
        "POST /fabric/collectives/jobs": [{"jobID": f"slurm-{number}", "mcastLimit": 8} for number in (2, 3, 4)],
        "PATCH /fabric/collectives/jobs/{job}": [{"jobSteps": {"0": {"nodes": 4}}}, {"jobSteps": {"0": None}}],
    },
    "vnid": {
        "POST /vnis": [
            {"partitionName": f"p{first}", "description": "d", "vniFirst": first, "vniLast": first + 99}
            for first in (5000, 6000, 7000)
        ],
        "POST /vnis/{partition}/vnis": [
            {"vniCount": 2, "description": "of a test"},
            {"vniCount": 1, "isService": True, "vni": 2900},
            {"vniCount": 1, "jobID": JOB, "UID": UID, "jobStepID": "1", "pools": [POOL]},
        ],
        "POST /vnis/{partition}/pools": [
            {"name": f"n{first}", "vniFirst": first, "vniLast": first + 9, "poolType": kind}
            for first, kind in ((2800, "applications"), (2810, "job-steps"), (2820, "jobs"))
        ],
        "POST /vnis/{partition}/jobs": [
            {"jobID": str(number), "UID": UID, "vniCount": number % 2, "trafficClasses": {"bulk_data": True}}
            for number in range(2, 6)
        ],
        "POST /status": [{"status": "Active", "verbose": 1}],
    },
    "console-operator": {"GET /console-operator/getNodePod": [{"xname": "x1000c0s0b0n0"}]},
}
