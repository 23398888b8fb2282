"""SLS: hardware, its search, and malformed paths."""

from __future__ import annotations

from differential.sequence import Sequence, ask, delete, get, post, put

HARDWARE = "sls:/v1/hardware"
NODE, BMC = "x3000c0s1b0n0", "x3000c0s1b0"
ODD_NAMES = (
    *("", "X3000", " x3000", "x03000", "x3000 ", "x00003", "s0", "s1", "all", "all_comp", "p1", "p1.2", "p1x2", "sms1"),
    *("d0", "d00w1", "x1b0", "x1c0s0e0t0", "x0c0s0j1", "x0c0s0v1", "x0c0w0", "x0c0h1s1", "x0c8", "INVALID", "é"),
    *("x0c0s0b0n0g0k0", "x0c0r0t0f0", "x0c0s0b0f0", "x12345", "x0c0b0i0", "x0\u0000"),
)
EXTRA = {
    *("1", "1.5", "true", "null", "x"),
    *('"q"', '["a"]', '{"b": 1}', '{"b": 1, "aa": [1, "x", null, 2.5]}'),
}
ODD_BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"{} {}",
    b'{"Xname": 1}',
    b'{"Xname": "x0", "Class": ["River"]}',
)

SEQUENCES = [
    Sequence(
        "names of hardware",
        *(post(HARDWARE, {"Xname": name, "Class": "River"}) for name in ODD_NAMES),
        *(
            put(f"{HARDWARE}/{name}", {"Class": "Hill"})
            for name in ("s0", "sms1", "X3000", "x03000", "p1.2", "x1b0", "d0", "x0c0s0b0n0g0k0", "x0%00", "%20x7")
        ),
        get(HARDWARE),
        get("sls:/v1/version"),
    ),
    Sequence(
        "bodies that are no hardware",
        *(post(HARDWARE, raw=body) for body in ODD_BODIES),
        *(put(f"{HARDWARE}/x0", raw=body) for body in ODD_BODIES),
        *(post(HARDWARE, {"Xname": "x0", "Class": class_}) for class_ in ("", "river", "RIVER", "Ocean", None)),
        *(put(f"{HARDWARE}/x0", {"Class": class_}) for class_ in ("", "river", "Ocean", None)),
        post(HARDWARE, {"xname": "x1", "CLASS": "River", "extraproperties": {"a": 1}}),
        post(HARDWARE, {"Xname": "x2", "Class": "River", "ExtraProperties": {"a": "\u0000"}}),
        post(HARDWARE, {"Xname": "x2", "Class": "River", "ExtraProperties": {"a": "\\u0000"}}),
        put(f"{HARDWARE}/x2", {"Class": "River", "ExtraProperties": "\u0000"}),
        post(
            HARDWARE,
            raw=b'{"Xname":"x3","Class":"River","ExtraProperties":{"n":[12345678901234567890,1e2,0.1,-0,1e400]}}',
        ),
        post(
            HARDWARE,
            raw=b'{"Xname":"x3","Class":"River","ExtraProperties":{"n":[12345678901234567890,1e2,0.10,-0,1E-7]}}',
        ),
        post(HARDWARE, raw=b'{"Xname":"x4","Class":"River","ExtraProperties":{"s":"\\ud800 \xff"}}'),
        get(HARDWARE),
        get("sls:/v1/version"),
    ),
    Sequence(
        "children come and go",
        *(post(HARDWARE, {"Xname": name, "Class": "River"}) for name in (NODE, "x3000", "x3000c0", "x3000c0s1", BMC)),
        *(get(f"{HARDWARE}/{name}") for name in ("x3000", "x3000c0", BMC, NODE, "x3000c0s1")),
        post(HARDWARE, {"Xname": NODE, "Class": "River"}),
        delete(f"{HARDWARE}/x3000c0s1"),
        get(f"{HARDWARE}/{NODE}"),
        get(f"{HARDWARE}/x3000c0"),
        delete(f"{HARDWARE}/x3000c0s1"),
        post(HARDWARE, {"Xname": NODE, "Class": "Mountain", "ExtraProperties": {}}),
        delete(f"{HARDWARE}/x3000"),
        get(HARDWARE),
        delete(f"{HARDWARE}/nonsense"),
        get("sls:/v1/version"),
    ),
    Sequence(
        "search",
        post(HARDWARE, {"Xname": "x0", "Class": "River", "ExtraProperties": {"a": 1, "l": ["q", 2], "o": {"k": 1}}}),
        post(
            HARDWARE, {"Xname": "x0c0", "Class": "Hill", "ExtraProperties": {"a": {"b": 1, "aa": [1, "x", None, 2.5]}}}
        ),
        post(HARDWARE, {"Xname": "x0c0s0", "Class": "Hill", "ExtraProperties": {"a": True, "PoweredBy": "x0m0"}}),
        post(HARDWARE, {"Xname": NODE, "Class": "River", "ExtraProperties": {"a": None, "NodeNics": "x0", "é": "é"}}),
        post(HARDWARE, {"Xname": BMC, "Class": "River", "ExtraProperties": ["a"]}),
        post(HARDWARE, {"Xname": "x1", "Class": "River", "ExtraProperties": {"a": '"q"'}}),
        *(
            get(f"sls:/v1/search/hardware?{query}")
            for query in (
                *(
                    "",
                    "foo=bar",
                    "xname=",
                    "xname=x0",
                    "xname=X0",
                    "xname=x0&parent=s0",
                    "xname=x0&parent=x0",
                    "xname=p1",
                ),
                *("parent=s0", "parent=nonsense", "parent=all", "parent=x0c0", "parent=x9", "type=", "type=any"),
                *(
                    "type=comptype_node",
                    "type=comptype_partition",
                    "type=INVALID",
                    "type=Node",
                    "class=River",
                    "class=river",
                ),
                *(
                    "class=Hill&type=comptype_chassis",
                    "power_connector=x0m0",
                    "node_nics=x0",
                    "networks=HMN",
                    "peers=x",
                ),
                *("object=x", "extra_properties", "extra_properties.", "extra_properties.a=", "extra_properties.b=1"),
                *("extra_properties.l=q&extra_properties.l=z", "extra_properties.o=k&extra_properties.o=z"),
                *(
                    "extra_properties.a=1&extra_properties.a=2",
                    "extra_properties.NodeNics=x0&extra_properties.NodeNics=y",
                ),
                *(
                    "extra_properties.l=%5B%22q%22%2C%202%5D",
                    "extra_properties.%C3%A9=%C3%A9",
                    "extra_properties.a=%00",
                ),
                *(
                    "extra_propertiesX=1",
                    "xname=x0&xname=x1",
                    "parent=s0&extra_properties.a=1",
                    "extra_properties.a.b=1",
                ),
                *(f"extra_properties.a={value}".replace(" ", "%20").replace('"', "%22") for value in sorted(EXTRA)),
            )
        ),
    ),
    Sequence(
        "paths and methods",
        *(
            ask(method, f"sls:/v1/{path}")
            for path in ("hardware", "hardware/x0", "networks", "networks/a", "version", "health", "search/hardware")
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
            if (method, path) != ("PUT", "networks/a")
        ),
        *(
            ask(method, f"sls:/v1/{path}")
            for path in ("dumpstate", "loadstate", "readiness", "hardware/", "hardware/x0/", "networks/", "nothing")
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH")
        ),
        *(
            get(f"sls:{path}")
            for path in ("/", "/v1", "/v1/", "/v1//hardware?a=b", "/v1/ready", "/v1/networks/a/b", "/v2/x")
        ),
    ),
]
