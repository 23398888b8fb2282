"""Ethernet interfaces."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.smd_components import plain_nodes
from differential.generators.values import NODES, Steps, Values, asks, queried, sends, some, spoiled, under, xnames
from differential.sequence import post

BASE = "smd:/hsm/v2/Inventory/EthernetInterfaces"
MACS = (
    "a4:bf:01:38:f4:10",
    "a4:bf:01:38:f4:11",
    "A4BF0138F410",
    "02:00:00:00:00:01",
    "not a mac",
    "",
    "a4-bf-01-38-f4-10",
)
IDS = ("a4bf0138f410", "a4bf0138f411", "020000000001", "A4BF0138F410", "nothing")
ADDRESSES = ("10.1.0.1", "10.1.0.2", "10.1.0.03", "::1", "nonsense", "")
NETWORKS = ("NMN", "HMN", "", "nmn")
mapping = spoiled(some({"Network": st.sampled_from(NETWORKS)}, IPAddress=st.sampled_from(ADDRESSES)), often=8)
mappings: Values = st.one_of(st.lists(mapping, max_size=3), st.lists(mapping, max_size=3), st.none())
ids, addresses = st.sampled_from(IDS), st.sampled_from(("10.1.0.1", "10.1.0.2", "10.9.9.9", "nonsense"))
filters = {
    "MACAddress": st.sampled_from(MACS[:4]),
    "IPAddress": st.sampled_from(("10.1.0.1", "10.1.0.2", "")),
    "Network": st.sampled_from(NETWORKS),
    "ComponentID": xnames.filter(str.isalnum),
    "Type": st.sampled_from(("Node", "NodeBMC", "bad")),
    "OlderThan": st.sampled_from(("2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "yesterday")),
    "NewerThan": st.sampled_from(("2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "yesterday")),
}


def creations() -> Steps:
    """Valid interfaces."""
    return st.builds(
        lambda mac, owner, addresses: post(
            BASE,
            {"MACAddress": mac, "ComponentID": owner, "IPAddresses": [{"IPAddress": address} for address in addresses]},
        ),
        st.sampled_from(MACS[:2]),
        st.sampled_from(NODES),
        st.lists(st.sampled_from(ADDRESSES[:2]), max_size=2, unique=True),
    )


def steps() -> Steps:
    fields = {
        "Description": st.sampled_from(("", "first port", "ä")),
        "ComponentID": xnames,
        "IPAddresses": mappings,
        "IPAddress": st.sampled_from(ADDRESSES),
    }
    interface = some(fields, MACAddress=st.sampled_from(MACS))
    pairs = st.tuples(ids, addresses).map(lambda pair: f"{BASE}/{pair[0]}/IPAddresses/{pair[1]}")
    return st.one_of(
        plain_nodes,
        sends("POST", BASE, interface),
        sends("POST", BASE, interface),
        asks("GET", queried(BASE, filters)),
        asks("GET", BASE),
        asks("GET", under(BASE, ids)),
        sends("PATCH", under(BASE, ids), some({**fields, "MACAddress": st.sampled_from(MACS)})),
        asks("DELETE", under(BASE, ids)),
        asks("DELETE", BASE),
        asks("GET", under(BASE, ids, "/IPAddresses")),
        sends("POST", under(BASE, ids, "/IPAddresses"), mapping),
        sends("PATCH", pairs, some({"Network": st.sampled_from(NETWORKS), "IPAddress": st.sampled_from(ADDRESSES)})),
        asks("DELETE", pairs),
    )
