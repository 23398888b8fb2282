"""The kinds of faults: what each does, whom it strikes, and which facts it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.machine.faults.parameters import AnyValue, Choice, Number, ParameterType, Text

SERVICES, NAMES, XNAMES = "services", "names", "xnames"
"""What targets are: services with commas between, names of other things likewise, or a nodeset of xnames."""
LONGEST = 366 * 86400
_SECONDS = Number(0, LONGEST)
_CALLS: dict[str, ParameterType] = {
    "method": Choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")),
    "path": Text("part of a path"),
}
"""They narrow a fault of the wire down."""


@dataclass(frozen=True, slots=True)
class Kind:
    about: str
    targets: str = XNAMES
    facts: Mapping[str, ParameterType] = field(default_factory=dict)
    at_once: bool = False
    """It happens when it is set, always, and not again."""
    leaves_nothing: bool = False
    """Once it has happened there is nothing to clear."""


KINDS = {
    "no-power-on": Kind("the node takes the order and stays off"),
    "boot-hangs": Kind(
        "the node stops at a stage (stage=post, pxe, kernel or systemd; kernel when not said)",
        facts={"stage": Choice(("post", "pxe", "kernel", "systemd"))},
    ),
    "bmc-unreachable": Kind("the controller answers nobody: no Redfish, no power, no discovery"),
    "pcs-failure": Kind("PCS reports the task of this component as failed"),
    "lost-response": Kind(
        "the request (method=, path=, part of it) is carried out and the connection is closed without an answer",
        SERVICES,
        _CALLS,
    ),
    "doubled-response": Kind(
        "the request (method=, path=) is carried out twice, as behind a proxy that retries; the second answer is given",
        SERVICES,
        _CALLS,
    ),
    "server-error": Kind(
        "the service answers 503 (status=500 to 504; method=, path=) and does nothing",
        SERVICES,
        {"status": Number(500, 504, whole=True), **_CALLS},
    ),
    "latency": Kind(
        "the answer comes later (seconds=, real time, 1 when not said; method=, path=)",
        SERVICES,
        {"seconds": _SECONDS, **_CALLS},
    ),
    "token-expiry": Kind(
        "tokens that keycloak gave out before count as expired (before=, seconds since 1970; now when not said)",
        SERVICES,
        {"before": Number(0, 10**12)},
    ),
    "service-restart": Kind(
        "the service is away (seconds=, virtual time, 30 when not said) and then starts anew",
        SERVICES,
        {"seconds": _SECONDS},
        at_once=True,
    ),
    "stale-inventory": Kind("HSM hears nothing of what happens to the component"),
    "wrong-cabling": Kind(
        "the cables of two switch ports are swapped (with=, the other port)", facts={"with": AnyValue()}
    ),
    "disk-remnants": Kind("the node's disks hold files of the last tenant (of=, whose)", facts={"of": Text("a name")}),
    "cfs-layer-fails": Kind(
        "a task of a CFS layer fails on the node (layer=, its name or number; task=, part of its name)",
        facts={"layer": Text("a layer's name or number"), "task": Text("part of a task's name")},
    ),
    "cfs-session-stuck": Kind("the CFS session, by its name, stays pending", NAMES),
    "bos-unknown-member": Kind("BOS does not know the node, though HSM has it in a group"),
    "fm-no-effect": Kind("the Fabric Manager says yes and the switch port stays as it was"),
    "enforcement-failed": Kind("the enforcement of the VNI partition or block, by its name, ends FAILED", NAMES),
    "slow-barrier": Kind(
        "what the Fabric Manager orders of the port comes later (seconds=, virtual time, 60 when not said)",
        facts={"seconds": _SECONDS},
    ),
    "port-drift": Kind(
        "somebody else changes the switch port, once (online=, native=, allowed=, untagged=, vnis=)",
        facts={name: AnyValue() for name in ("online", "native", "allowed", "untagged", "vnis")},
        at_once=True,
        leaves_nothing=True,
    ),
    "image-job-stuck": Kind(
        "the IMS job, by its id or its image's name, goes no further (status=, where)",
        NAMES,
        {"status": Text("a status of IMS jobs")},
    ),
    "upload-cut": Kind("an upload into the S3 bucket breaks off in the middle, and nothing is stored", NAMES),
    "console-restart": Kind(
        "the console pod is away (seconds=, virtual time, 30 when not said), and drops its connections",
        NAMES,
        {"seconds": _SECONDS},
        at_once=True,
    ),
}
