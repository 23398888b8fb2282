"""SLS: networks and their search."""

from __future__ import annotations

from differential.sequence import Sequence, delete, get, patch, post, put

NETWORKS = "sls:/v1/networks"
RANGES = (
    *("10.0.0.0/8", "10.0.0.5/16", "10.0.0.1/32", "10.0.0.1", "10.1.0.0/08", "010.0.0.0/8", "10.0.0.0/33", "10/8", ""),
    *("10.0.0.0/-1", "10.0.0.0/255.0.0.0", "FDF8::1/64", "::1/128", "::/0", "::ffff:1.2.3.4/120", "::1.2.3.4/96"),
    *("::ffff:0:0/96", "fe80::1%eth0/64", "1:0:0:2:0:0:0:3/48", "::2:0/112", "0.0.0.0/0", " 10.0.0.0/8", "x/8"),
)
FULL = {
    "Name": "HMN",
    "FullName": "Hardware Management Network",
    "IPRanges": ["10.254.0.0/17", "fdf8:413::/64"],
    "Type": "ethernet",
    "ExtraProperties": {"CIDR": "10.254.0.0/17", "VlanRange": [4], "Subnets": [{"Name": "a", "VlanID": 4}]},
}

SEQUENCES = [
    Sequence(
        "a network's life",
        post(NETWORKS, FULL),
        get(f"{NETWORKS}/HMN"),
        post(NETWORKS, FULL),
        put(
            f"{NETWORKS}/HMN",
            {**FULL, "Name": "other", "Type": "Slingshot11", "LastUpdated": 5, "LastUpdatedTime": "x"},
        ),
        get(f"{NETWORKS}/HMN"),
        get(f"{NETWORKS}/other"),
        put(f"{NETWORKS}/new", {"Type": "opa", "IPRanges": []}),
        get(NETWORKS),
        patch(f"{NETWORKS}/HMN", {"FullName": "x"}),
        delete(f"{NETWORKS}/HMN"),
        delete(f"{NETWORKS}/HMN"),
        get(f"{NETWORKS}/HMN"),
        get("sls:/v1/version"),
    ),
    Sequence(
        "ranges",
        *(post(NETWORKS, {"Name": f"n{at}", "Type": "mixed", "IPRanges": [span]}) for at, span in enumerate(RANGES)),
        get(NETWORKS),
        *(
            get(f"sls:/v1/search/networks?ip_address={address}")
            for address in (
                *(
                    "10.0.0.1",
                    "10.0.0.0/24",
                    "10.0.0.0/8",
                    "10/8",
                    "10",
                    "010.0.0.1",
                    "1.2.3.4",
                    "::1",
                    "fdf8::5",
                    "FDF8::5",
                ),
                *(
                    "::ffff:1.2.3.4",
                    "nonsense",
                    "10.0.0.1/33",
                    "10.0.0.1/",
                    "%2010.0.0.1",
                    "fe80::1%25eth0",
                    "10.0.0.256",
                ),
            )
        ),
    ),
    Sequence(
        "what is no network",
        *(
            post(NETWORKS, raw=body)
            for body in (b"", b"{", b"[]", b"null", b'{"IPRanges": "x"}', b'{"LastUpdated": 1.5}')
        ),
        *(put(f"{NETWORKS}/a", raw=body) for body in (b"", b"[", b"null", b'{"IPRanges": [1]}', b'{"Type": {}}')),
        *(post(NETWORKS, {**FULL, "Name": name}) for name in ("", "a b", " ", "a\tb", "é", "a\u0000", "a/b")),
        *(post(NETWORKS, {**FULL, "Type": kind}) for kind in ("", "foo", "ETHERNET", "Opa", None)),
        post(NETWORKS, {"Name": "x", "Type": "opa"}),
        post(NETWORKS, {"Name": "x", "Type": "opa", "IPRanges": None}),
        post(NETWORKS, {"Name": "x", "Type": "opa", "IPRanges": [], "ExtraProperties": {"\u0000": 1}}),
        post(NETWORKS, {"Name": "x", "Type": "opa", "IPRanges": [], "FullName": "\u0000"}),
        put(f"{NETWORKS}/a%00", FULL),
        put(f"{NETWORKS}/a%20b", FULL),
        get(f"{NETWORKS}/a%00"),
        delete(f"{NETWORKS}/a%00"),
        get(f"{NETWORKS}/a%2Fb"),
        get(NETWORKS),
        get("sls:/v1/version"),
    ),
    Sequence(
        "search",
        post(NETWORKS, FULL),
        post(NETWORKS, {**FULL, "Name": "NMN", "FullName": "", "ExtraProperties": None}),
        *(
            get(f"sls:/v1/search/networks?{query}")
            for query in (
                *(
                    "",
                    "foo=1",
                    "name=",
                    "name=HMN",
                    "name=hmn",
                    "name=a%20b",
                    "full_name=Hardware%20Management%20Network",
                ),
                *("full_name=x", "type=ethernet", "type=Ethernet", "type=foo", "type=mixed", "name=HMN&type=ethernet"),
                *("extra_properties.CIDR=10.254.0.0%2F17", "extra_properties.=1", "extra_properties=1"),
                *("extra_properties.VlanRange=%5B4%5D", "extra_properties.VlanRange=4&extra_properties.VlanRange=5"),
                *("ip_address=10.254.0.9&name=NMN", "name=%00", "full_name=%00", "extra_properties.a=%00"),
            )
        ),
    ),
]
