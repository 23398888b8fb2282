"""Paths, methods and headers at the edges of HTTP; also played over sockets."""

from __future__ import annotations

from differential.sequence import Sequence, ask, delete, get, patch, post, put

SEQUENCES = [
    Sequence(
        "smd paths that are not quite right",
        get("smd:/"),
        get("smd:/hsm/v2"),
        get("smd:/hsm/v2/"),
        get("smd:/hsm/v1/State/Components"),
        get("smd:/hsm/v2/State/Components/"),
        get("smd:/hsm/v2//State/Components"),
        get("smd:/hsm/v2/State/../State/Components"),
        get("smd:/hsm/v2/state/components"),
        get("smd:/hsm/v2/groups/a%2Fb"),
        get("smd:/hsm/v2/groups/%62lue"),
        get("smd:/hsm/v2/groups/%C3%A4"),
        get("smd:/hsm/v2/State/Components?"),
        get("smd:/hsm/v2/State/Components?type=Node&type=NodeBMC&"),
        get("smd:/hsm/v2/State/Components?type=%zz"),
        get("smd:/hsm/v2/State/Components?type=Node;state=On"),
        get("smd:/hsm/v2/State/Components?ty%70e=No%64e"),
    ),
    Sequence(
        "smd methods that are not there",
        post("smd:/hsm/v2/service/ready", {}),
        put("smd:/hsm/v2/State/Components", {}),
        patch("smd:/hsm/v2/State/Components", {}),
        delete("smd:/hsm/v2/groups"),
        post("smd:/hsm/v2/groups/blue", {}),
        ask("HEAD", "smd:/hsm/v2/State/Components"),
        ask("OPTIONS", "smd:/hsm/v2/State/Components"),
        ask("TRACE", "smd:/hsm/v2/State/Components"),
        ask("BREW", "smd:/hsm/v2/State/Components"),
    ),
    Sequence(
        "smd says that it is there",
        get("smd:/hsm/v2/service/ready"),
        get("smd:/hsm/v2/service/liveness"),
        *(
            get(f"smd:/hsm/v2/service/values{kind}")
            for kind in ("", "/arch", "/class", "/flag", "/nettype", "/role", "/subrole", "/state", "/type", "/none")
        ),
    ),
    Sequence(
        "smd bodies and what they are called",
        post("smd:/hsm/v2/groups", raw=b'{"label":"one"}', headers={"Content-Type": "text/plain"}),
        post(
            "smd:/hsm/v2/groups", raw=b'{"label":"two"}', headers={"Content-Type": "application/x-www-form-urlencoded"}
        ),
        post("smd:/hsm/v2/groups"),
        post("smd:/hsm/v2/groups", raw=b'\xef\xbb\xbf{"label":"three"}'),
        post("smd:/hsm/v2/groups", raw=b' \n{"label":"four"}\n trailing'),
        post("smd:/hsm/v2/groups", raw=b'{"label":"five","label":"six"}'),
        post("smd:/hsm/v2/groups", raw=b'{"LABEL":"seven","Label":"eight"}'),
        get("smd:/hsm/v2/groups", headers={"Accept": "text/html"}),
    ),
    Sequence(
        "sls paths and methods",
        get("sls:/"),
        get("sls:/v1"),
        get("sls:/v1/"),
        get("sls:/v1/hardware/"),
        get("sls:/v1//hardware"),
        get("sls:/v1/hardware/x0%20"),
        get("sls:/v1/search"),
        put("sls:/v1/hardware", {}),
        patch("sls:/v1/hardware/x0", {}),
        delete("sls:/v1/networks"),
        delete("sls:/v1/hardware"),
        ask("HEAD", "sls:/v1/hardware"),
        ask("OPTIONS", "sls:/v1/hardware"),
        *(get(f"sls:/v1/{what}") for what in ("health", "readiness", "liveness", "version", "dumpstate")),
        post("sls:/v1/dumpstate", {}),
    ),
    Sequence(
        "bss paths and methods",
        get("bss:/"),
        get("bss:/boot/v1"),
        get("bss:/boot/v1/"),
        get("bss:/boot/v1/bootparameters/"),
        get("bss:/boot/v1//bootparameters"),
        get("bss:/boot/v1/nothing"),
        post("bss:/boot/v1/dumpstate", {}),
        delete("bss:/boot/v1/hosts"),
        ask("HEAD", "bss:/boot/v1/bootparameters"),
        ask("OPTIONS", "bss:/boot/v1/bootparameters"),
        ask("BREW", "bss:/boot/v1/bootparameters"),
        delete("bss:/meta-data"),
        get("bss:/phone-home"),
        post("bss:/user-data", {}),
        *(
            get(f"bss:/boot/v1/service/{what}")
            for what in ("status", "etcd", "hsm", "version", "status/all", "none", "")
        ),
        get("bss:/boot/v1/service"),
    ),
]
