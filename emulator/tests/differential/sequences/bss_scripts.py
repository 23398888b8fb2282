"""BSS: scripts, cloud-init, histories, health, for hosts that HSM does not know."""

from __future__ import annotations

from differential.sequence import Sequence, ask, get, post, put

PARAMETERS = "bss:/boot/v1/bootparameters"
SCRIPT = "bss:/boot/v1/bootscript"
PARAMS = (
    *("", "quiet", " quiet ", "xname=a nid=b", "ds=x", "initrd=old quiet", "quiet initrd=old", "noinitrdhere", "a  b"),
    *(
        "root=live:http://127.0.0.1/r",
        "root=live:s3://b/r metal.server=s3://b/m",
        "root=live:s3://b q=s3://b/r",
        "nid=1 xname=x0 ds=nocloud bss_referral_token=t",
        "${X}",
        "é",
        "a\nb",
    ),
)
META = {"a": {"b": [1, {"c": 2}]}, "local-hostname": "h", "n": None, "s": "text"}
USER = {
    "plain": "text",
    "quoted": [
        "yes",
        "1",
        "",
        "a: b",
        "- a",
        "#",
        "null",
        "~",
        "y",
        "1e3",
        "0x1",
        "2020-01-01",
        "'",
        '"',
        "a\tb",
        "=",
        "<<",
    ],
    "lines": "one\ntwo\n",
    "cut": "one\n two",
    "numbers": [1, 1.5, 100000, 1000000, 0.0001, 0.00001, -3, 1e21, 0],
    "nothing": [None, True, False, {}, []],
    "nested": {"list": [{"a": 1, "b": 2}, [1, [2]]], "k10": 1, "k9": 1, "K": 1},
    "long": "word " * 30,
}
PATHS = (
    *(
        "bootparameters",
        "bootscript",
        "hosts",
        "dumpstate",
        "endpoint-history",
        "scn",
        "service/status",
        "service",
        "",
        "x",
    ),
    *(
        "service/",
        "service/all",
        "service/version",
        "service/etcd",
        "service/hsm",
        "service/x",
        "hosts/",
        "service/status/all",
    ),
)

SEQUENCES = [
    Sequence(
        "unknown hosts",
        *(
            get(f"{SCRIPT}?{query}")
            for query in (
                *(
                    "",
                    "mac=",
                    "nid=-1",
                    "nid=x",
                    "mac=a",
                    "name=n",
                    "nid=5",
                    "nid=0x5",
                    "nid=010",
                    "mac=a&mac=b",
                    "arch=x86_64",
                ),
                *(
                    "mac=a&name=n&nid=5",
                    "mac=a&ts=7",
                    "mac=a&ts=x",
                    "mac=a&arch=",
                    "name=n&retry=4&ts=1",
                    "mac=%C3%A9&ts=1",
                ),
                *("mac=a&arch=x86_64", "nid=5&arch=x86_64", "name=n&arch=arm64", "mac=a%20b&arch=%3Cx%3E"),
            )
        ),
        put(PARAMETERS, {"hosts": ["Default", "Compute"], "kernel": "http://127.0.0.1/k"}),
        get(f"{SCRIPT}?mac=a&arch=x86_64"),
        put(PARAMETERS, {"hosts": ["Unknown-x86_64"], "params": "no kernel"}),
        get(f"{SCRIPT}?mac=a&arch=x86_64"),
        get("bss:/boot/v1/endpoint-history"),
    ),
    Sequence(
        "parameters in the script",
        *(
            step
            for params in PARAMS
            for step in (
                put(PARAMETERS, {"hosts": ["Unknown-a"], "kernel": "k", "params": params}),
                get(f"{SCRIPT}?mac=m&arch=a&ts=7"),
                put(PARAMETERS, {"hosts": ["Unknown-a"], "kernel": "k", "initrd": "i", "params": params}),
                get(f"{SCRIPT}?mac=m&arch=a&ts=7"),
            )
        ),
        get("bss:/boot/v1/endpoint-history"),
        get("bss:/boot/v1/endpoint-history?name=&endpoint=bootscript"),
    ),
    Sequence(
        "BSS runs past the end of the parameters",
        put(PARAMETERS, {"hosts": ["Unknown-a"], "kernel": "k", "initrd": "i", "params": "ds=x initrd=old"}),
        get(f"{SCRIPT}?mac=m&arch=a&ts=7"),
    ),
    Sequence(
        "images in S3",
        put(PARAMETERS, {"hosts": ["Unknown-a"], "kernel": "s3://boot-images/1/kernel"}),
        get(f"{SCRIPT}?mac=m&arch=a&ts=7"),
        *(
            step
            for kernel in (
                "s3://b/%zz",
                "s3x://b/k",
                "/s3://b/k",
                "s3://b",
                "s3:",
                "s3:///b/a c",
                "S3://b/K?x=1",
                "s3:b/k",
                "s3:/b/k",
            )
            for step in (
                put(PARAMETERS, {"hosts": ["Unknown-a"], "kernel": kernel}),
                get(f"{SCRIPT}?mac=m&arch=a&ts=7"),
            )
        ),
    ),
    Sequence(
        "cloud-init by default",
        get("bss:/meta-data"),
        get("bss:/user-data"),
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": META, "user-data": USER}}),
        put(PARAMETERS, {"hosts": ["Global"], "cloud-init": {"meta-data": {"g": {"h": "i"}}}}),
        get("bss:/meta-data"),
        get("bss:/user-data"),
        *(
            get(f"bss:/meta-data?key={key}")
            for key in (
                "",
                "a",
                "a.b",
                "a.b.c",
                "a..b",
                "n",
                "n.x",
                "s.x",
                "Global",
                "Global.g.h",
                "Global.x",
                "Global.",
                "x",
                ".",
            )
        ),
        get("bss:/meta-data?key=a&key=s"),
        get("bss:/meta-data?other=a"),
        get("bss:/boot/v1/endpoint-history"),
    ),
    Sequence(
        "a role's cloud-init",
        put(
            PARAMETERS,
            {"hosts": ["Worker"], "cloud-init": {"meta-data": {"r": {"a": 1, "b": 2}, "s": 1}, "user-data": {"u": 1}}},
        ),
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": {"shasta-role": "Worker", "r": {"b": 3}}}}),
        get("bss:/meta-data"),
        get("bss:/user-data"),
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": {"shasta-role": "Worker", "r": 5}}}),
        get("bss:/meta-data"),
        put(PARAMETERS, {"hosts": ["Default"], "cloud-init": {"meta-data": {"shasta-role": 5}}}),
        get("bss:/user-data"),
    ),
    Sequence(
        "calling home from nowhere",
        *(post("bss:/phone-home", raw=body) for body in (b"", b"{", b"[]", b'{"fqdn":1}', b"null", b"{}", b"{} x")),
        post("bss:/phone-home", {"hostname": "h"}),
    ),
    Sequence(
        "state changes",
        *(post("bss:/boot/v1/scn", raw=body) for body in (b"", b"{", b"[]", b'{"Enabled":1}', b'{"Components":[1]}')),
        post("bss:/boot/v1/scn", {"Components": ["x0c0s0b0n0"], "State": "On", "Enabled": None}),
    ),
    Sequence(
        "histories of unknown hosts",
        *(
            get(f"bss:/boot/v1/endpoint-history?{query}")
            for query in (
                *(
                    "",
                    "name=x",
                    "endpoint=x",
                    "endpoint=bootscript",
                    "name=x&endpoint=bootscript",
                    "name=x&endpoint=BOOTSCRIPT",
                ),
                *(
                    "name=x&endpoint=user-data",
                    "name=x&endpoint=x",
                    "name=a&name=b&endpoint=user-data",
                    "name=&endpoint=",
                ),
            )
        ),
    ),
    Sequence(
        "paths and methods",
        *(
            ask(method, f"bss:/boot/v1/{path}")
            for path in PATHS
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
        ),
        *(
            ask(method, f"bss:/{path}")
            for path in ("meta-data", "user-data", "phone-home")
            for method in ("PUT", "HEAD", "DELETE")
        ),
        *(
            get(f"bss:{path}")
            for path in ("/", "/boot", "/boot/v1", "/boot/v1?a=b", "/boot//v1/hosts", "/boot/v1/./hosts", "/x/")
        ),
        *(
            get(f"bss:{path}")
            for path in ("/boot/v1//hosts?a=b", "/boot/v1/../v1/x/", "/meta-data/", "//meta-data", "/boot/v2/hosts")
        ),
        ask("POST", "bss:/boot/v1"),
        ask("DELETE", "bss:/boot/v1/service"),
        ask("POST", "bss:/boot//v1"),
    ),
    Sequence(
        "hosts of an empty HSM",
        *(
            get(f"bss:/boot/v1/hosts?{query}")
            for query in (
                "",
                "name=a",
                "mac=a",
                "nid=1",
                "nid=x",
                "name=,",
                "nid=1,x",
                "name=&mac=&nid=",
                "name=a&nid=x",
                "q=1",
            )
        ),
        post("bss:/boot/v1/hosts", raw=b"nonsense"),
        get("bss:/boot/v1/dumpstate"),
    ),
]
