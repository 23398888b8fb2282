"""SLS: hardware, networks, searches, dump and load."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from differential.generators.values import CLASSES, Steps, Values, asks, queried, sends, some, spoiled, under
from differential.sequence import ask, get, post

BASE = "sls:/v1"
XNAMES = ("x0c0s0b0n0", "x0c0s0b0", "x0c0s0", "x0c0", "x0", "x3000c0w14", "x3000m0", "x3000m0p0", "x0c0r1b0", "s0")
ODD = ("X0C0S0B0N0", "x00c0s0b0n0", "foo", "", "x0c0s0b0n0 ")
xnames = st.one_of(st.sampled_from(XNAMES), st.sampled_from(XNAMES), st.sampled_from(ODD))
paths = st.sampled_from((*XNAMES, "X0C0S0B0N0", "x00c0s0b0n0", "foo"))
extras: Values = st.sampled_from(
    (
        {"NID": 1, "Role": "Compute", "Aliases": ["nid000001"]},
        {"Role": "Management", "SubRole": "Worker", "NID": 100},
        {"NodeNics": ["x0c0s0b0"], "PoweredBy": ["x3000m0p0"]},
        {"IP4addr": "10.254.0.2", "Username": "root", "Password": "vault://x", "Networks": ["HMN"], "Peers": ["x0"]},
        {"anything": {"deep": [1, 2.5, None]}},
        {},
        None,
        [],
        "text",
    )
)
hardware = spoiled(
    some(
        {
            "Parent": xnames,
            "Children": st.lists(xnames, max_size=2),
            "Type": st.sampled_from(("comptype_node", "comptype_ncard", "comptype_bad", "Node")),
            "TypeString": st.sampled_from(("Node", "NodeBMC", "bad")),
            "ExtraProperties": extras,
            "VaultData": st.sampled_from((None, {"a": "b"})),
            "LastUpdated": st.sampled_from((0, 5, 1700000000)),
        },
        Xname=xnames,
        Class=st.sampled_from(CLASSES),
    ),
    often=10,
)
NAMES = ("NMN", "HMN", "CAN", "bad name", "", "nmn", "ä")
names, path_names = st.sampled_from(NAMES), st.sampled_from(("NMN", "HMN", "CAN", "nmn", "nothing"))
ranges: Values = st.sampled_from(
    (["10.252.0.0/17"], ["10.254.0.0/17", "10.1.0.0/16"], [], None, ["nonsense"], [""], ["10.252.0.5/17"])
)
network = spoiled(
    some(
        {
            "FullName": st.sampled_from(("Node Management Network", "", "ä")),
            "ExtraProperties": st.sampled_from(
                ({"CIDR": "10.252.0.0/17", "VlanRange": [2], "Subnets": []}, {}, None, "x")
            ),
            "LastUpdated": st.sampled_from((0, 5)),
        },
        Name=names,
        IPRanges=ranges,
        Type=st.sampled_from(("ethernet", "slingshot10", "cassini", "infiniband", "opa", "mixed", "Ethernet", "bad")),
    ),
    often=10,
)
searches = {
    "xname": paths,
    "parent": paths,
    "class": st.sampled_from(CLASSES),
    "type": st.sampled_from(("comptype_node", "Node", "bad", "comptype_ncard")),
    "power_connector": paths,
    "object": paths,
    "node_nics": paths,
    "networks": st.sampled_from(("HMN", "x")),
    "peers": paths,
    "extra_properties.Role": st.sampled_from(("Compute", "x")),
    "extra_properties.NID": st.sampled_from(("1", "x")),
    "extra_properties.Aliases": st.sampled_from(("nid000001", "x")),
    "extra_properties": st.sampled_from(("x", "")),
}
network_searches = {
    "name": path_names,
    "full_name": st.sampled_from(("Node%20Management%20Network", "x")),
    "type": st.sampled_from(("ethernet", "mixed", "bad")),
    "ip_address": st.sampled_from(("10.252.0.1", "10.9.9.9", "nonsense", "10.252.0.0/17")),
    "extra_properties.CIDR": st.sampled_from(("10.252.0.0%2F17", "x")),
}


def _load() -> Steps:
    """One record of each kind: SLS reports the errors of several in the order of a Go map."""
    state = some(
        {
            "Hardware": st.dictionaries(xnames, hardware, max_size=1),
            "Networks": st.dictionaries(names, network, max_size=1),
        }
    )
    plain = sends("POST", f"{BASE}/loadstate", state)
    return st.one_of(plain, state.map(lambda dump: ask("POST", f"{BASE}/loadstate", raw=form(dump), headers=FORM)))


BOUNDARY = "canton-differential"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def form(dump: object) -> bytes:
    """The dump as a file upload, which SLS requires."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="sls_dump"; filename="dump.json"\r\n'
    return f"{head}Content-Type: application/json\r\n\r\n{json.dumps(dump)}\r\n--{BOUNDARY}--\r\n".encode(
        "utf-8", "surrogatepass"
    )


def creations() -> Steps:
    """Valid hardware and networks."""
    return st.one_of(
        st.builds(
            lambda name, extra: post(f"{BASE}/hardware", {"Xname": name, "Class": "River", "ExtraProperties": extra}),
            st.sampled_from(XNAMES[:5]),
            extras,
        ),
        st.sampled_from(NAMES[:3]).map(
            lambda name: post(f"{BASE}/networks", {"Name": name, "Type": "ethernet", "IPRanges": ["10.252.0.0/17"]})
        ),
    )


def steps() -> Steps:
    return st.one_of(
        sends("POST", f"{BASE}/hardware", hardware),
        sends("POST", f"{BASE}/hardware", hardware),
        sends("PUT", under(f"{BASE}/hardware", paths), hardware),
        asks("GET", f"{BASE}/hardware"),
        asks("GET", under(f"{BASE}/hardware", paths)),
        asks("DELETE", under(f"{BASE}/hardware", paths)),
        asks("GET", queried(f"{BASE}/search/hardware", searches)),
        sends("POST", f"{BASE}/networks", network),
        sends("POST", f"{BASE}/networks", network),
        sends("PUT", under(f"{BASE}/networks", path_names), network),
        sends("PATCH", under(f"{BASE}/networks", path_names), network),
        asks("GET", f"{BASE}/networks"),
        asks("GET", under(f"{BASE}/networks", path_names)),
        asks("DELETE", under(f"{BASE}/networks", path_names)),
        asks("GET", queried(f"{BASE}/search/networks", network_searches)),
        st.sampled_from(("dumpstate", "version", "health", "readiness", "liveness")).map(
            lambda what: get(f"{BASE}/{what}")
        ),
        _load(),
    )
