"""A fault has targets that exist or may exist later; a misspelled target is refused."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.faults.kinds import KINDS
from csm_emulator.site import Site

NODE, PORT = "x1000c0s0b0n0", "x1000c0r3j1p0"
FACTS: dict[str, dict[str, Any]] = {"wrong-cabling": {"with": "x1000c0r7j1p0"}, "port-drift": {"online": 1}}


@pytest.mark.parametrize(
    ("kind", "targets", "message"),
    [
        ("server-error", "smdd", "no service is called 'smdd'; did you mean \"smd\"\\? Services: .*bos, bss, "),
        ("service-restart", "smd, missing-service", "no service is called 'missing-service'; services: .*bos, bss, "),
        ("token-expiry", "smd", "no service is called 'smd'; services: keycloak"),
        ("latency", "", "latency needs targets, not ''"),
        ("latency", "smd,", "latency needs targets"),
        ("cfs-session-stuck", " ", "cfs-session-stuck needs targets"),
        (
            "cfs-layer-fails",
            "x1000c0s0b0n99",
            "no part x1000c0s0b0n99; cfs-layer-fails applies to Node, here 9 from x1000c0s0b0n0 to x3000",
        ),
        ("boot-hangs", "x1000c0s0b0n[0-2]", "no part x1000c0s0b0n2; "),
        ("boot-hangs", "nid001000", "no part nid001000; "),
        (
            "no-power-on",
            "x1000c0s0b0",
            "x1000c0s0b0 is a NodeBMC, but no-power-on applies to .*ComputeModule or Node or",
        ),
        ("disk-remnants", "x1000c0s0", "is a ComputeModule, but disk-remnants applies to Node"),
        ("bos-unknown-member", "x1000c0s0b0", "is a NodeBMC"),
        ("bmc-unreachable", "x1000", "x1000 is a Cabinet"),
        ("pcs-failure", "x9999c0s0b0n0", "no part"),
        ("stale-inventory", "x9999c0s0b0n0", "no part"),
        ("fm-no-effect", "x1", "no switch has a port x1; fm-no-effect applies to ports with cables, here "),
        ("fm-no-effect", f"{NODE}h0", "no switch has a port"),
        ("slow-barrier", "x1000c0r9j1p0", "no switch has a port x1000c0r9j1p0"),
        ("wrong-cabling", "x1000c0r9j1p0", "no switch has a port x1000c0r9j1p0"),
    ],
)
def test_a_target_that_does_not_exist(tiny: Site, kind: str, targets: str, message: str) -> None:
    with pytest.raises(InvalidMachine, match=message) as refused:
        tiny.set_fault(Fault("f1", kind, targets, facts=FACTS.get(kind, {})))
    assert "\n" not in refused.value.message
    assert list(tiny.faults) == []


def test_both_ends_of_a_swap_are_there(tiny: Site) -> None:
    with pytest.raises(InvalidMachine, match="no switch has a port x1000c0r9j1p0"):
        tiny.set_fault(Fault("f1", "wrong-cabling", PORT, facts={"with": "x1000c0r9j1p0"}))
    tiny.set_fault(Fault("f1", "wrong-cabling", PORT, facts={"with": f"{NODE}h0"}))


@pytest.mark.parametrize(
    ("kind", "targets"),
    [
        ("cfs-session-stuck", "tomorrow"),
        ("image-job-stuck", "image-of-next-week,f6ce5ac8-b3d5-4a9c-8b61-9f0eb9a8c4f4"),
        ("cfs-layer-fails", "f6ce5ac8-b3d5-4a9c-8b61-9f0eb9a8c4f4"),
        ("enforcement-failed", "red-block"),
        ("upload-cut", "a-bucket-of-mine"),
        ("bmc-unreachable", "x1000c0s0b0,x1000c0b0,x1000c0r3b0,x3000m0"),
        ("bmc-unreachable", NODE),
        ("no-power-on", "x1000c0,x1000c0s0,x3000m0p0v1"),
        ("stale-inventory", "x1000c0s0b0"),
        ("fm-no-effect", "x1000c0r3j20p0"),
        ("server-error", "smd, pcs"),
    ],
)
def test_what_is_there_or_may_come(tiny: Site, kind: str, targets: str) -> None:
    tiny.set_fault(Fault("f1", kind, targets))
    assert [fault.kind for fault in tiny.faults] == [kind]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wrong-cabling"])
def test_everything_can_be_struck_and_the_fault_cleared(tiny: Site, kind: str) -> None:
    tiny.set_fault(Fault("f1", kind, "*", facts=FACTS.get(kind, {})))
    for fault in list(tiny.faults):
        tiny.clear_fault(fault.id)
    assert list(tiny.faults) == []
