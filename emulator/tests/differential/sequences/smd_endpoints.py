"""SMD: Redfish endpoints written by clients, and the component and service endpoints that discovery would find."""

from __future__ import annotations

from typing import Any

from differential.sequence import Sequence, delete, get, patch, post, put

ENDPOINTS = "smd:/hsm/v2/Inventory/RedfishEndpoints"
COMPONENTS = "smd:/hsm/v2/Inventory/ComponentEndpoints"
SERVICES = "smd:/hsm/v2/Inventory/ServiceEndpoints"
BMC = "x0c0s0b0"
ALL = get(ENDPOINTS)
NONE: tuple[Any, ...] = (
    *({}, None, {"RedfishEndpoints": []}, {"RedfishEndpoints": None}, {"ID": ""}, {"ID": "foo"}, {"ID": f"{BMC}n0"}),
    *({"Hostname": "a.b"}, {"ID": BMC, "FQDN": "a.b.c", "Hostname": "x"}, {"ID": BMC, "IPAddress": "zz"}),
    *({"ID": BMC, "Hostname": "1.2.3.4", "IPAddress": "1.2.3.5"}, {"ID": BMC, "Enabled": "yes"}, {"ID": 3}, []),
    *(
        {"ID": BMC, "User": "x" * 200},
        {"ID": BMC, "Name": "x\0"},
        {"RedfishEndpoints": [{"ID": "x3c0b0"}, {"ID": "z"}]},
    ),
)
SOME: tuple[Any, ...] = (
    {
        "ID": BMC,
        "Domain": "d.e",
        "Hostname": BMC,
        "User": "root",
        "Password": "p",
        "UUID": "u",
        "Name": "n",
        "MACAddr": "aa",
    },
    *({"FQDN": "X0C0S02B0"}, {"ID": "x0c0s3b0", "FQDN": "127.0.0.1"}, {"ID": "x0c0s4b0", "FQDN": "[::1]:443"}),
    *({"ID": "x0c0s5b0", "Hostname": "127.0.0.2", "Domain": "d"}, {"ID": "x0c0s6b0", "IPAddress": "127.0.0.6:99"}),
    *(
        {"ID": "x0c0s7b0", "FQDN": "bmc7.x.y"},
        {"RedfishEndpoints": [{"ID": "x1c0b0", "Enabled": False}, {"ID": "x1c0r1b0"}]},
    ),
    *(
        {"ID": BMC},
        {"ID": "x0c0s1b0", "FQDN": f"{BMC}.d.e"},
        {"RedfishEndpoints": [{"ID": "x2c0b0"}, {"ID": "x2c0b0"}]},
    ),
)
PATCHES: tuple[tuple[str, Any], ...] = (
    *(
        (BMC, body)
        for body in ({}, {"User": "me"}, {"User": "me"}, {"Type": "foo"}, {"Hostname": "zz"}, {"FQDN": "zz"})
    ),
    *((BMC, {"IPAddress": text}) for text in ("zz", "127.0.0.9")),
    *((BMC, {"Enabled": value}) for value in (None, "x")),
    (BMC, []),
    *(("X0C0S0B0", {"ID": "x9c0b0", "Enabled": False}), ("foo", {}), ("x9c0b0", {})),
    *(("x0c0s5b0", {"IPAddress": "127.0.0.8"}), ("x0c0s6b0", {"FQDN": "x1c0b0", "Hostname": "x1c0b0"})),
)
QUERIES = (
    *(
        "id=X0c0s0b0",
        "id=!x0c0s0b0&id=!x1c0b0",
        "id=foo",
        "type=nodebmc",
        "type=!nodebmc",
        "type=foo",
        "fqdn=127.0.0.1",
    ),
    *(
        "uuid=u",
        "macaddr=aa",
        "ipaddress=127.0.0.2",
        "laststatus=NotYetQueried",
        "laststatus=!NotYetQueried",
        "id=",
        "a=1",
    ),
)

SEQUENCES = [
    Sequence(
        "Redfish endpoints that are none",
        ALL,
        delete(ENDPOINTS),
        *(post(ENDPOINTS, body) for body in NONE),
        *(post(ENDPOINTS, raw=raw) for raw in (b"", b"{", b"null", b'{"ID":}', b"\xff")),
        *(get(f"{ENDPOINTS}/{name}") for name in (BMC, "foo", "Query/all", "Query/s0", "Query/x0")),
        *(delete(f"{ENDPOINTS}/{name}") for name in (BMC, "foo", "a-b")),
        *(put(f"{ENDPOINTS}/{name}", {}) for name in (BMC, "foo", f"{BMC}n0")),
        ALL,
    ),
    Sequence(
        "Redfish endpoints come, change and go",
        *(post(ENDPOINTS, body) for body in SOME),
        ALL,
        *(get(f"{ENDPOINTS}?{query}") for query in QUERIES),
        *(patch(f"{ENDPOINTS}/{name}", body) for name, body in PATCHES),
        ALL,
        put(f"{ENDPOINTS}/{BMC}", {"ID": "x1"}),
        put(f"{ENDPOINTS}/{BMC}", {"User": "u2"}),
        put(f"{ENDPOINTS}/{BMC}", {"FQDN": "127.0.0.1"}),
        put(f"{ENDPOINTS}/{BMC}", {"FQDN": "a b"}),
        put(f"{ENDPOINTS}/{BMC}", {"Enabled": False, "User": "x" * 200}),
        put(f"{ENDPOINTS}/x9c0b0", {}),
        ALL,
        delete(f"{ENDPOINTS}/X0C0S0B0"),
        delete(f"{ENDPOINTS}/x0c0s3b0"),
        delete(f"{ENDPOINTS}/x0c0s3b0"),
        delete(ENDPOINTS),
        ALL,
    ),
    Sequence(
        "no component or service endpoints without discovery",
        *(get(f"{COMPONENTS}{more}") for more in ("", "/x0", "/foo", "?id=foo", "?id=x0&id=!x1", "?redfish_ep=foo")),
        *(get(f"{COMPONENTS}{more}") for more in ("?redfish_type=a-b", "?type=foo", "/Query/all")),
        *(delete(f"{COMPONENTS}{more}") for more in ("", "/x0", "/foo", "/a-b")),
        *(get(f"{SERVICES}{more}") for more in ("", "/UpdateService", "/a-b", "?service=a-b", "?redfish_ep=foo")),
        *(
            get(f"{SERVICES}/{more}")
            for more in ("UpdateService/RedfishEndpoints/x0c0s0b0", "a-b/RedfishEndpoints/foo")
        ),
        *(delete(f"{SERVICES}{more}") for more in ("", "/UpdateService/RedfishEndpoints/x0c0s0b0", "/UpdateService")),
    ),
    Sequence(
        "discovery without a controller",
        *(get(f"smd:/hsm/v2/Inventory/DiscoveryStatus{more}") for more in ("", "/0", "/1", "/x", "/-1", "/4294967296")),
        *(
            post("smd:/hsm/v2/Inventory/Discover", body)
            for body in ({}, {"xnames": [BMC]}, {"xnames": [""]}, {"xnames": 3})
        ),
        post("smd:/hsm/v2/Inventory/Discover", raw=b""),
    ),
]
