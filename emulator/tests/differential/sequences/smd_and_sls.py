"""The fields that SMD takes from SLS: NID, role and class of a node that is created without them."""

from __future__ import annotations

from differential.sequence import Sequence, get, post

NODES = ("x0c0s0b0n0", "x0c0s0b0n1")
KNOWN = {"NID": 42, "Role": "Application", "SubRole": "UAN", "Aliases": ["uan01"]}

SEQUENCES = [
    Sequence(
        "a node that SLS knows",
        post("sls:/v1/hardware", {"Xname": NODES[0], "Class": "River", "ExtraProperties": KNOWN}),
        post("sls:/v1/hardware", {"Xname": NODES[1], "Class": "Mountain", "ExtraProperties": {}}),
        post("smd:/hsm/v2/State/Components", {"Components": [{"ID": node, "State": "On"} for node in NODES]}),
        get("smd:/hsm/v2/State/Components"),
    ),
    Sequence(
        "a NodeMap beside SLS",
        post("sls:/v1/hardware", {"Xname": NODES[0], "Class": "River", "ExtraProperties": KNOWN}),
        post("smd:/hsm/v2/Defaults/NodeMaps", {"NodeMaps": [{"ID": NODES[0], "NID": 7, "Role": "Compute"}]}),
        post("smd:/hsm/v2/State/Components", {"Components": [{"ID": NODES[0], "State": "On"}]}),
        get("smd:/hsm/v2/State/Components"),
    ),
]
