"""BSS on the records of HSM, and the times at which BSS reads them."""

from __future__ import annotations

from differential.sequence import Sequence, delete, get, patch, post, put, wait

NODE, MAC = "x0c0s0b0n0", "a4:bf:01:00:00:00"
THERE = (
    post(
        "smd:/hsm/v2/State/Components",
        {"Components": [{"ID": NODE, "State": "Ready", "NID": 7, "Role": "Compute", "Arch": "X86"}]},
    ),
    post(
        "smd:/hsm/v2/Inventory/EthernetInterfaces",
        {"MACAddress": MAC, "ComponentID": NODE, "IPAddresses": [{"IPAddress": "10.1.0.1"}]},
    ),
)
# No discovery made an endpoint of the node, so BSS takes it for unknown. With an architecture, and no parameters for
# unknown nodes, it uses the node's own parameters; without, it reads HSM again and tells the node to retry.
ARCH = "arch=x86_64"
# BSS reads HSM at most once a second.
LOOK = (wait(1.1), post("bss:/boot/v1/hosts"))
BOOT = put(
    "bss:/boot/v1/bootparameters",
    {"hosts": [NODE], "kernel": "http://127.0.0.1/kernel", "initrd": "http://127.0.0.1/initrd", "params": "quiet"},
)

SEQUENCES = [
    Sequence(
        "a node is found by name, MAC and NID",
        *THERE,
        *LOOK,
        get("bss:/boot/v1/hosts"),
        BOOT,
        *(
            get(f"bss:/boot/v1/{what}{which}")
            for what in (f"bootscript?{ARCH}&", "bootscript?", "bootparameters?", "hosts?")
            for which in (f"name={NODE}", f"mac={MAC}", "nid=7", f"mac={MAC.upper()}", "nid=8", "name=x9c0s0b0n0")
        ),
        get("bss:/boot/v1/endpoint-history"),
        get("bss:/boot/v1/dumpstate"),
    ),
    Sequence(
        "cloud-init by source address",
        *THERE,
        *LOOK,
        BOOT,
        patch(
            "bss:/boot/v1/bootparameters",
            {"hosts": [NODE], "cloud-init": {"meta-data": {"a": {"b": 1}}, "user-data": {"runcmd": ["true"]}}},
        ),
        put("bss:/boot/v1/bootparameters", {"hosts": ["Global"], "cloud-init": {"meta-data": {"g": "h"}}}),
        *(
            get(f"bss:/{what}", headers={"X-Forwarded-For": source})
            for source in ("10.1.0.1", "10.1.0.1, 10.9.9.9", "10.1.0.9", "nonsense")
            for what in ("meta-data", "meta-data?key=a.b", "meta-data?key=Global.g", "meta-data?key=x", "user-data")
        ),
        post("bss:/phone-home", {"hostname": "h", "instance_id": "i"}, headers={"X-Forwarded-For": "10.1.0.1"}),
        get(f"bss:/boot/v1/bootparameters?name={NODE}"),
        get(f"bss:/boot/v1/endpoint-history?name={NODE}"),
    ),
    Sequence(
        "by role and by default",
        *THERE,
        *LOOK,
        put("bss:/boot/v1/bootparameters", {"hosts": ["Default"], "kernel": "http://127.0.0.1/default"}),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        put("bss:/boot/v1/bootparameters", {"hosts": ["Compute"], "kernel": "http://127.0.0.1/compute"}),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        delete("bss:/boot/v1/bootparameters", {"hosts": ["Compute", "Default"]}),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
    ),
    Sequence(
        "something to boot for unknown nodes",
        *THERE,
        *LOOK,
        put("bss:/boot/v1/bootparameters", {"hosts": ["Unknown-x86_64"], "kernel": "http://127.0.0.1/unknown"}),
        BOOT,
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        get(f"bss:/boot/v1/bootscript?name={NODE}&arch=aarch64"),
        get(f"bss:/boot/v1/bootscript?mac=02:00:00:00:00:09&{ARCH}"),
        get(f"bss:/boot/v1/bootscript?nid=99&{ARCH}&retry=3"),
        get("bss:/boot/v1/bootscript?mac=02:00:00:00:00:09"),
        get("bss:/boot/v1/bootscript"),
    ),
    Sequence(
        "a blocked role",
        post(
            "smd:/hsm/v2/State/Components",
            {"Components": [{"ID": NODE, "State": "Ready", "Role": "Management", "NID": 1}]},
        ),
        *LOOK,
        put("bss:/boot/v1/bootparameters", {"hosts": ["Default"], "kernel": "http://127.0.0.1/default"}),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        BOOT,
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
    ),
    Sequence(
        "a token stays with its parameters",
        *THERE,
        *LOOK,
        BOOT,
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        BOOT,
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
        patch("bss:/boot/v1/bootparameters", {"hosts": [NODE], "params": "loud"}),
        get(f"bss:/boot/v1/bootscript?name={NODE}&{ARCH}"),
    ),
]
