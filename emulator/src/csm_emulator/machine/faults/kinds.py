"""The kinds of faults: their effects, targets and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.machine.faults.parameters import AnyValue, Choice, Number, ParameterType, Text

SERVICES, NAMES, XNAMES = "services", "names", "xnames"
"""Types of targets: comma-separated services, comma-separated names of other objects, or a nodeset of xnames."""
LONGEST = 366 * 86400
_SECONDS = Number(0, LONGEST)
_CALLS: dict[str, ParameterType] = {
    "method": Choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")),
    "path": Text("part of a path"),
}
"""Parameters that limit a fault of requests to some of them."""


@dataclass(frozen=True, slots=True)
class Kind:
    about: str
    targets: str = XNAMES
    facts: Mapping[str, ParameterType] = field(default_factory=dict)
    at_once: bool = False
    """The fault happens once, when it is set."""
    leaves_nothing: bool = False
    """The fault is not listed after it has happened."""


KINDS = {
    "no-power-on": Kind("the node accepts the order to switch on and stays off"),
    "boot-hangs": Kind(
        "the boot of the node hangs (stage=post, pxe, kernel or systemd; default kernel)",
        facts={"stage": Choice(("post", "pxe", "kernel", "systemd"))},
    ),
    "bmc-unreachable": Kind("the controller does not answer: no Redfish, power control or discovery"),
    "pcs-failure": Kind("PCS reports the task of this component as failed"),
    "lost-response": Kind(
        "the request (method=; path=, a part of it) is carried out and the connection closed without a response",
        SERVICES,
        _CALLS,
    ),
    "doubled-response": Kind(
        "the request (method=, path=) is carried out twice, as by a proxy that retries; the second response is sent",
        SERVICES,
        _CALLS,
    ),
    "server-error": Kind(
        "the service answers 503 (status=500 to 504; method=, path=) without carrying out the request",
        SERVICES,
        {"status": Number(500, 504, whole=True), **_CALLS},
    ),
    "latency": Kind(
        "the response is delayed (seconds=, real time, default 1; method=, path=)",
        SERVICES,
        {"seconds": _SECONDS, **_CALLS},
    ),
    "token-expiry": Kind(
        "tokens that keycloak issued before a moment count as expired (before=, seconds since 1970, default now)",
        SERVICES,
        {"before": Number(0, 10**12)},
    ),
    "service-restart": Kind(
        "the service is down for a while (seconds=, virtual time, default 30) and loses what it kept in memory",
        SERVICES,
        {"seconds": _SECONDS},
        at_once=True,
    ),
    "stale-inventory": Kind("HSM does not notice changes of the component"),
    "wrong-cabling": Kind(
        "the cables of two switch ports are swapped (with=, the other port)", facts={"with": AnyValue()}
    ),
    "disk-remnants": Kind(
        "the node's disks hold files of the last tenant (of=, its name)", facts={"of": Text("a name")}
    ),
    "cfs-layer-fails": Kind(
        "a task of a CFS layer fails on the node (layer=, its name or number; task=, part of its name)",
        facts={"layer": Text("a layer's name or number"), "task": Text("part of a task's name")},
    ),
    "cfs-session-stuck": Kind("the CFS session of this name stays pending", NAMES),
    "bos-unknown-member": Kind("BOS does not know the node, although it is in a group of HSM"),
    "fm-no-effect": Kind("the Fabric Manager reports success but the switch port does not change"),
    "enforcement-failed": Kind("the enforcement of the VNI partition or block of this name ends FAILED", NAMES),
    "slow-barrier": Kind(
        "the Fabric Manager's changes of the port are delayed (seconds=, virtual time, default 60)",
        facts={"seconds": _SECONDS},
    ),
    "port-drift": Kind(
        "the switch port is changed on the switch itself (online=, native=, allowed=, untagged=, vnis=)",
        facts={name: AnyValue() for name in ("online", "native", "allowed", "untagged", "vnis")},
        at_once=True,
        leaves_nothing=True,
    ),
    "image-job-stuck": Kind(
        "the IMS job, by its id or its image's name, stops (status=, at this status)",
        NAMES,
        {"status": Text("a status of IMS jobs")},
    ),
    "upload-cut": Kind("an upload to the S3 bucket is cut off and nothing is stored", NAMES),
    "console-restart": Kind(
        "the console pod is down for a while (seconds=, virtual time, default 30) and drops its connections",
        NAMES,
        {"seconds": _SECONDS},
        at_once=True,
    ),
}
