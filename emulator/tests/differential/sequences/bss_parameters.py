"""BSS: boot parameters by host, tag and image, and invalid bodies."""

from __future__ import annotations

from differential.sequence import Json, Sequence, ask, delete, get, patch, post, put

PARAMETERS = "bss:/boot/v1/bootparameters"
X0, X1 = "x0c0s0b0n0", "x0c0s1b0n0"
KERNEL, INITRD = "http://127.0.0.1/kernel", "http://127.0.0.1/initrd"
BODIES = (
    *(b"", b" ", b"{", b"[", b'{"hosts"', b'{"hosts":', b'{"hosts":["a",]}', b"{,}", b'{"a":1,}', b"{a:1}", b'{"a" 1}'),
    *(
        b'{"a":1 "b":2}',
        b"tru",
        b"trux",
        b"nul",
        b"-",
        b"01",
        b"1.",
        b"1.a",
        b"1e",
        b"1e+",
        b'"abc',
        b'"a\\x"',
        b'"\\u12g4"',
    ),
    *(
        b'"a\nb"',
        b"\x00",
        b"[1 2]",
        b"{} x",
        b"{}{}",
        b"x",
        b"\xc3\xa9",
        b'"\\',
        b"NaN",
        b"-Infinity",
        b"1",
        b'"s"',
        b"true",
    ),
    *(b"[]", b"null", b'{"hosts":1}', b'{"hosts":[1]}', b'{"hosts":[null]}', b'{"hosts":{"a":1}}', b'{"macs":[1.5]}'),
    *(
        b'{"nids":["1"]}',
        b'{"nids":[1.5]}',
        b'{"nids":[3000000000]}',
        b'{"nids":[1e2]}',
        b'{"nids":[-1]}',
        b'{"params":1}',
    ),
    *(b'{"kernel":[]}', b'{"cloud-init":1}', b'{"cloud-init":{"meta-data":1}}', b'{"cloud-init":{"user-data":[1]}}'),
    *(b'{"cloud-init":{"phone-home":{"fqdn":1}}}', b'{"cloud-init":{"meta-data":{"a":1e400}}}', b'{"HOSTS":1}'),
    *(b'{"hosts":1,"params":2}', b'{"a":tr}', b"{'a':1}", b'"\t"', b"\\", b"+1", b"\xff", b'{"params":"\xff"}'),
)
# No null in a list: BSS may crash on it when it compares, depending on the order of its maps.
CLOUD = {"meta-data": {"a": 1, "deep": {"x": 1, "y": None}, "l": [1, {"n": None}]}, "user-data": {"runcmd": ["true"]}}
PATCHES: tuple[Json, ...] = (
    {"meta-data": {"a": None, "b": {"c": None, "d": [1, {"e": None}]}}},
    {"meta-data": {"deep": {"x": None, "z": {"q": None}}}},
    {"meta-data": {"deep": 5, "l": {"k": None}}},
    {"meta-data": {"deep": {"again": None, "l": [{"m": None}]}}},
    {"meta-data": {}, "user-data": None},
    {"user-data": {"runcmd": None}},
    {"user-data": {"n": None, "m": 1}},
    {"phone-home": {"hostname": "h"}},
    {"phone-home": {"fqdn": "f", "pub_key_ed25519": "k"}},
    {"phone-home": {}},
)

SEQUENCES = [
    Sequence(
        "an entry's life",
        get(PARAMETERS),
        post(PARAMETERS, {"hosts": [X0, "Default"], "params": "quiet", "kernel": KERNEL, "initrd": INITRD}),
        get(PARAMETERS),
        post(PARAMETERS, {"hosts": ["a", X0], "kernel": KERNEL}),
        put(PARAMETERS, {"hosts": [X0], "kernel": "other"}),
        get(f"{PARAMETERS}?name={X0}"),
        patch(PARAMETERS, {"hosts": [X0, X1], "params": "p"}),
        patch(PARAMETERS, {"hosts": [X0], "params": "p", "initrd": "new"}),
        patch(PARAMETERS, {"hosts": [X0]}),
        get(PARAMETERS, {"hosts": [X0, "Default", "nothing"]}),
        get(PARAMETERS, {"kernel": KERNEL}),
        get(PARAMETERS, {"initrd": INITRD, "kernel": "none"}),
        get(PARAMETERS, {"kernel": "none", "hosts": ["none"], "macs": ["m"], "nids": [5]}),
        delete(PARAMETERS, {"hosts": ["none", X0, "other"]}),
        delete(PARAMETERS, {"kernel": KERNEL}),
        get(PARAMETERS),
        get("bss:/boot/v1/dumpstate"),
        delete(PARAMETERS, {"kernel": KERNEL, "initrd": "nothing"}),
    ),
    Sequence(
        "parameters of an image",
        put(PARAMETERS, {"kernel": KERNEL, "params": "kp"}),
        put(PARAMETERS, {"initrd": INITRD, "params": "ip"}),
        post(PARAMETERS, {"kernel": KERNEL, "params": "kp"}),
        post(PARAMETERS, {"initrd": INITRD}),
        post(PARAMETERS, {"kernel": "new", "initrd": INITRD}),
        patch(PARAMETERS, {"kernel": KERNEL}),
        patch(PARAMETERS, {"initrd": INITRD, "params": "again"}),
        put(PARAMETERS, {"hosts": ["Unknown-x86_64"], "kernel": KERNEL, "initrd": INITRD, "params": "own"}),
        get(PARAMETERS),
        get("bss:/boot/v1/bootscript?mac=a&arch=x86_64&ts=7"),
        post(PARAMETERS, {}),
        put(PARAMETERS, {"params": "nothing"}),
        patch(PARAMETERS, {"params": "nothing"}),
        delete(PARAMETERS, {}),
        patch(PARAMETERS, {"hosts": ["none"], "kernel": "kept all the same"}),
        get(PARAMETERS),
    ),
    Sequence(
        "names that are odd",
        *(
            put(PARAMETERS, {"hosts": [name], "params": "p"})
            for name in ("", " ", "~a", "é", "a/b", "a b", "A", "a", "\u0000", "Unknown-x", "nid5", "\U0001f600")
        ),
        get(PARAMETERS),
        *(
            get(f"{PARAMETERS}?name={name}")
            for name in ("", "~a", "%C3%A9", "a%2Fb", "A,a", ",", "a,none", "%20", "none")
        ),
        get(PARAMETERS, {"hosts": [""]}),
        get(PARAMETERS, {"hosts": ["none", ""]}),
        put(PARAMETERS, {"macs": ["AA:BB"], "params": "m"}),
        put(PARAMETERS, {"nids": [5, -1], "params": "n"}),
        put(PARAMETERS, {"hosts": ["h"], "macs": ["m"], "nids": [1], "params": "only h"}),
        post(PARAMETERS, {"macs": ["AA:BB"], "params": "m"}),
        post(PARAMETERS, {"nids": [5], "params": "n"}),
        patch(PARAMETERS, {"macs": ["AA:BB"], "nids": [5], "params": "not patched"}),
        get(f"{PARAMETERS}?mac=aa:bb"),
        *(get(f"{PARAMETERS}?nid={nid}") for nid in ("5", "0x5", "05", "1_0", "x", "", "99999999999999999999", "1,x")),
        get(f"{PARAMETERS}?name=h&name=a&mac=m&nid=5"),
        delete(PARAMETERS, {"macs": ["AA:BB"]}),
        delete(PARAMETERS, {"nids": [5, 6]}),
        delete(PARAMETERS, {"hosts": [""]}),
        get(PARAMETERS),
    ),
    Sequence(
        "bodies that are none",
        *(
            ask(method, PARAMETERS, raw=body)
            for body in BODIES
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
            if (method, body) != ("GET", b'{"params":"\xff"}')
        ),
        get(f"{PARAMETERS}?name=Default", raw=b'{"hosts": ["x"], "nids": ["1"], "kernel": 1}'),
        get(PARAMETERS),
    ),
    Sequence(
        "cloud-init is merged",
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": CLOUD}),
        *(
            step
            for cloud_init in PATCHES
            for step in (
                patch(PARAMETERS, {"hosts": ["Default"], "cloud-init": cloud_init}),
                get(f"{PARAMETERS}?name=Default"),
            )
        ),
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": {}}}),
        patch(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": {"kept": None}}}),
        get(PARAMETERS),
    ),
]
