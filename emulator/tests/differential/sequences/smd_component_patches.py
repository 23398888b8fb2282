"""Single fields of components, one by one and in bulk."""

from __future__ import annotations

from differential.sequence import Sequence, Step, get, patch, post

BASE = "smd:/hsm/v2/State/Components"
N0, N1, N2 = "x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0"
STATES = ("Unknown", "Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready")
BODIES: tuple[object, ...] = (
    {},
    {"State": "On"},
    {"State": "Broken"},
    {"State": "On", "Flag": "Red"},
    {"State": "Off", "Flag": "Red"},
    {"State": "On", "Flag": "warn"},
    {"State": "ready", "Flag": "OK", "Force": True},
    {"State": "Empty"},
    {"State": "Empty", "force": True},
    {"State": ""},
    {"State": None},
    {"State": 1},
    {"State": "On", "Force": "yes"},
    {"State": "Standby", "ExtendedInfo": {"Message": "m", "ID": "1", "Flag": "x"}},
    {"State": "Halt", "ExtendedInfo": "anything"},
    {"Flag": "Alert"},
    {"Flag": "Red"},
    {"Flag": ""},
    {"Flag": []},
    {"Enabled": False},
    {"Enabled": True},
    {"Enabled": None},
    {"Enabled": "true"},
    {"SoftwareStatus": "AdminDown"},
    {"SoftwareStatus": ""},
    {"SoftwareStatus": "a" * 33},
    {"SoftwareStatus": "a\u0000"},
    {"SoftwareStatus": "<&>"},
    {"Role": "management", "SubRole": "master"},
    {"Role": "Management"},
    {"Role": "Cook"},
    {"Role": ""},
    {"Role": "Compute", "SubRole": "Waiter"},
    {"Role": "Compute", "SubRole": ""},
    {"Role": {"a": 1}},
    {"NID": 5},
    {"NID": "5"},
    {"ID": N0, "State": "On", "Flag": "OK", "Enabled": True, "SoftwareStatus": "x", "Role": "Compute", "NID": 5},
    {"ID": N1, "State": "On"},
    {"ID": N0.upper(), "State": "On"},
    {"ID": 5, "State": "On"},
    {"Group": ["x"], "Partition": "p1", "State": "On"},
    {"UpdateType": "Role", "State": "On"},
    [],
    None,
    "x",
)
WHAT = ("StateData", "FlagOnly", "Enabled", "SoftwareStatus", "Role", "NID")


def nodes() -> Step:
    return post(BASE, {"Components": [{"ID": xname, "State": "Off", "NID": 1} for xname in (N0, N1, N2, "x0c0s0b0")]})


def transitions(forced: bool) -> Sequence:
    steps = []
    for old in STATES:
        for new in STATES:
            steps.append(patch(f"{BASE}/{N0}/StateData", {"State": old, "Force": True}))
            steps.append(patch(f"{BASE}/BulkStateData", {"ComponentIDs": [N1, N2], "State": old, "Force": True}))
            steps.append(patch(f"{BASE}/{N0}/StateData", {"State": new, "Force": forced}))
            # Without force SMD never returns its database connection for a state that only force may set.
            if forced or new not in ("Unknown", "Empty", "Populated"):
                steps.append(patch(f"{BASE}/BulkStateData", {"ComponentIDs": [N1, N2], "State": new, "Force": forced}))
            steps.append(get(f"{BASE}?stateonly=true"))
    return Sequence(f"from every state to every state{', forced' if forced else ''}", nodes(), *steps)


SEQUENCES = [
    *(
        Sequence(
            f"{what} of one",
            nodes(),
            *(step for body in BODIES for step in (patch(f"{BASE}/{N0}/{what}", body), get(f"{BASE}/{N0}"))),
            patch(
                f"{BASE}/foo/{what}", {"State": "On", "Flag": "OK", "Enabled": True, "SoftwareStatus": "", "Role": "x"}
            ),
            patch(f"{BASE}/x7/{what}", {"State": "On", "Flag": "OK", "Enabled": True, "SoftwareStatus": "", "NID": 1}),
            patch(f"{BASE}/X0c0s0b0n0/{what}", {"State": "On", "Flag": "OK", "Enabled": True, "Role": "Compute"}),
            patch(f"{BASE}/{N0}/{what}", raw=b""),
            patch(f"{BASE}/{N0}/{what}", raw=b"{} {}"),
            get(BASE),
        )
        for what in WHAT
    ),
    *(
        Sequence(
            f"{what} of several",
            nodes(),
            *(
                step
                for body in BODIES
                if not (isinstance(body, dict) and body.get("State") in ("Empty", "Broken"))
                for step in (
                    patch(f"{BASE}/Bulk{what}", {"ComponentIDs": [N0, N1], **body} if isinstance(body, dict) else body),
                    get(BASE),
                )
            ),
            *(
                patch(
                    f"{BASE}/Bulk{what}",
                    {
                        "ComponentIDs": ids,
                        "State": "On",
                        "Flag": "OK",
                        "Enabled": True,
                        "SoftwareStatus": "s",
                        "Role": "Compute",
                    },
                )
                for ids in (
                    [],
                    None,
                    ["foo"],
                    [N0, "foo"],
                    ["x9"],
                    [N0.upper(), "x00c0s0b0n1"],
                    [N0, N0],
                    "x0",
                    [1],
                    [None],
                )
            ),
            patch(f"{BASE}/Bulk{what}", raw=b"{"),
            get(BASE),
        )
        for what in WHAT[:-1]
    ),
    Sequence(
        "a locked flag stays, a late heartbeat makes no node Ready",
        nodes(),
        patch(f"{BASE}/{N0}/FlagOnly", {"Flag": "Locked"}),
        patch(f"{BASE}/{N0}/StateData", {"State": "On", "Flag": "Warning"}),
        get(f"{BASE}/{N0}"),
        patch(f"{BASE}/BulkStateData", {"ComponentIDs": [N0, N1], "State": "Off", "Flag": "Alert"}),
        get(BASE),
        patch(f"{BASE}/BulkStateData", {"ComponentIDs": [N0, N1], "State": "Ready", "Flag": "Warning"}),
        patch(f"{BASE}/{N2}/StateData", {"State": "Ready", "Flag": "Warning"}),
        get(BASE),
        patch(f"{BASE}/{N2}/StateData", {"State": "Ready", "Flag": "Warning", "Force": True}),
        patch(f"{BASE}/{N2}/StateData", {"State": "Ready"}),
        patch(f"{BASE}/{N2}/StateData", {"State": "Ready", "Flag": "Warning"}),
        get(BASE),
    ),
    transitions(forced=False),
    transitions(forced=True),
]
