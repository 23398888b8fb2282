"""NodeMaps, and SMD's service information."""

from __future__ import annotations

from differential.sequence import Sequence, ask, delete, get, post, put

BASE = "smd:/hsm/v2/Defaults/NodeMaps"
N0, N1 = "x0c0s0b0n0", "x0c0s0b0n1"
BODIES: tuple[object, ...] = (
    {"NID": 1},
    {"ID": N0, "NID": 1},
    {"ID": N0.upper(), "NID": 1, "Role": "compute", "SubRole": "worker"},
    {"ID": N0, "NID": 1, "NodeInfo": {"a": [1, "<&>"]}},
    {"ID": N0, "NID": 1, "NodeInfo": None},
    {"ID": N0, "NID": 1, "NodeInfo": "text"},
    {"ID": N1, "NID": 1},
    {"ID": N1, "NID": 2},
    {"ID": N0, "NID": 2},
    {"ID": N0, "NID": 0},
    {"ID": N0, "NID": -1},
    {"ID": N0, "NID": "1"},
    {"ID": N0, "NID": 1.0},
    {"ID": N0, "NID": 2**70},
    {"ID": N0, "NID": None},
    {"ID": N0},
    {"ID": "x0", "NID": 1},
    {"ID": "foo", "NID": 1},
    {"ID": None, "NID": 1},
    {"ID": 5, "NID": 1},
    {"ID": N0, "NID": 1, "Role": "Cook"},
    {"ID": N0, "NID": 1, "SubRole": "Waiter"},
    {"ID": N0, "NID": 1, "Role": 5},
    {"ID": "x0c0s0b0n0v1", "NID": 7},
    {},
    [],
    None,
    "x",
)

SEQUENCES = [
    Sequence(
        "NodeMaps one at a time",
        get(BASE),
        delete(BASE),
        *(step for body in BODIES for step in (post(BASE, body), put(f"{BASE}/{N0}", body), get(BASE))),
        put(f"{BASE}/foo", {"NID": 3}),
        put(f"{BASE}/{N0}", raw=b""),
        post(BASE, raw=b"{"),
        get(f"{BASE}/{N0}"),
        get(f"{BASE}/{N0.upper()}"),
        get(f"{BASE}/foo"),
        get(f"{BASE}/%00"),
        delete(f"{BASE}/{N0}"),
        delete(f"{BASE}/{N0}"),
        delete(f"{BASE}/foo"),
        get(BASE),
        delete(BASE),
        delete(BASE),
    ),
    Sequence(
        "NodeMaps in lists",
        post(BASE, {"NodeMaps": []}),
        post(BASE, {"NodeMaps": None}),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": 1}, {"ID": N1, "NID": 2}]}),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": 3}, {"ID": N1, "NID": 1}]}),
        get(BASE),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": 1}]}),
        post(BASE, {"NodeMaps": [{"ID": "x0c0s9b0n0", "NID": 9}, {"ID": N0, "NID": 9}]}),
        get(BASE),
        post(BASE, {"NodeMaps": [{"ID": "x0c0s9b0n0", "NID": 9}, {"ID": "foo", "NID": 10}]}),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": "1"}]}),
        post(BASE, {"NodeMaps": {"ID": N0, "NID": 1}}),
        post(BASE, {"NodeMaps": [None]}),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": 11}], "ID": N1, "NID": 12}),
        post(BASE, {"NodeMaps": [{"ID": N0, "NID": 11}], "role": None}),
        get(BASE),
        *(
            ask(method, f"{BASE}{path}")
            for method in ("HEAD", "OPTIONS", "PATCH", "PUT", "POST")
            for path in ("", "/", f"/{N0}", f"/{N0}/x")
        ),
    ),
    Sequence(
        "what SMD says of itself",
        get("smd:/hsm/v2/service/ready"),
        get("smd:/hsm/v2/service/liveness"),
        *(
            get(f"smd:/hsm/v2/service/values{path}")
            for path in (
                "",
                "/",
                "/arch",
                "/class",
                "/flag",
                "/nettype",
                "/role",
                "/state",
                "/type",
                "/nonsense",
                "/Arch",
            )
        ),
        get("smd:/hsm/v2/service/values/subrole"),
        *(ask(method, "smd:/hsm/v2/service/ready") for method in ("HEAD", "OPTIONS", "POST", "PATCH")),
    ),
]
