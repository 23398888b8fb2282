"""Redfish endpoints without discovery, and the collections that are empty without it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from differential.generators.values import CONTROLLERS, Json, Steps, asks, queried, sends, some, spoiled, under
from differential.sequence import Step, post

BASE = "smd:/hsm/v2/Inventory/RedfishEndpoints"
INVENTORY = "smd:/hsm/v2/Inventory"
names = st.sampled_from((*CONTROLLERS, "x0c0s0b0n0", "X0C0S0B0", "x00c0s0b0", "foo", ""))
paths = st.sampled_from((*CONTROLLERS, "X0C0S0B0", "x0c0s0b0n0", "foo"))
# Loopback has 16 million addresses.
hosts = st.sampled_from(("127.0.0.2", "127.0.0.3", "bmc.local", "", "x0c0s0b0"))
fields = {
    "Name": st.sampled_from(("", "a BMC")),
    "Hostname": hosts,
    "Domain": st.sampled_from(("", "local", "a.b")),
    "FQDN": st.sampled_from(("127.0.0.2", "127.0.0.3", "bmc.local", "x0c0s0b0.local")),
    "Enabled": st.booleans(),
    "UUID": st.sampled_from(
        ("", "93c23d36-1111-4222-8333-444455556666", "93c23d36-1111-4222-8333-444455556667", "nonsense")
    ),
    "User": st.sampled_from(("root", "")),
    "Password": st.sampled_from(("secret", "")),
    "UseSSDP": st.booleans(),
    "MACRequired": st.booleans(),
    "MACAddr": st.sampled_from(("a4:bf:01:38:f4:10", "a4bf0138f411", "nonsense", "")),
    "IPAddress": st.sampled_from(("127.0.0.2", "nonsense", "")),
    "TemplateID": st.sampled_from(("", "t")),
    "Type": st.sampled_from(("NodeBMC", "Node", "nodebmc", "bad")),
}
filters = {
    "id": paths,
    "fqdn": st.sampled_from(("127.0.0.2", "bmc.local")),
    "type": st.sampled_from(("NodeBMC", "bad")),
    "uuid": st.sampled_from(("93c23d36-1111-4222-8333-444455556666", "x")),
    "macaddr": st.sampled_from(("a4:bf:01:38:f4:10", "x")),
    "ipaddress": st.sampled_from(("127.0.0.2", "x")),
    "laststatus": st.sampled_from(("NotYetQueried", "DiscoverOK", "bad")),
}


def without_discovery(value: Json) -> Json:
    """A discovery would contact a controller, which is not part of the comparison."""
    if isinstance(value, dict):
        return {
            name: False if name.casefold() == "rediscoveronupdate" and inner is True else without_discovery(inner)
            for name, inner in value.items()
        }
    return [without_discovery(inner) for inner in value] if isinstance(value, list) else value


def creations() -> Steps:
    """Valid endpoints."""
    return st.sampled_from(CONTROLLERS).map(
        lambda name: post(BASE, {"ID": name, "FQDN": f"{name}.local", "User": "root"})
    )


def steps() -> Steps:
    endpoint = some(fields, ID=names)
    several = some({}, RedfishEndpoints=st.lists(spoiled(endpoint), max_size=3))
    return st.one_of(
        sends("POST", BASE, endpoint),
        sends("POST", BASE, endpoint),
        sends("POST", BASE, several),
        sends("PUT", under(BASE, paths), endpoint),
        sends("PATCH", under(BASE, paths), some(fields)),
        asks("GET", queried(BASE, filters)),
        asks("GET", BASE),
        asks("GET", under(BASE, paths)),
        asks("GET", under(f"{BASE}/Query", st.sampled_from((*CONTROLLERS, "s0", "all", "foo")))),
        asks("DELETE", under(BASE, paths)),
        asks("DELETE", BASE),
        asks("GET", under(f"{INVENTORY}/ComponentEndpoints", paths)),
        st.sampled_from(
            ("ComponentEndpoints", "ServiceEndpoints", "Hardware", "HardwareByFRU", "DiscoveryStatus")
        ).flatmap(lambda kind: st.one_of(asks("GET", f"{INVENTORY}/{kind}"), asks("DELETE", f"{INVENTORY}/{kind}"))),
        asks("GET", f"{INVENTORY}/DiscoveryStatus/0"),
    ).map(lambda step: step if step.raw is not None else _safe(step))


def _safe(step: Step) -> Step:
    return replace(step, body=without_discovery(step.body))
