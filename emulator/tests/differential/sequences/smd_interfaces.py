"""SMD: Ethernet interfaces and their addresses, power maps, and subscriptions."""

from __future__ import annotations

from typing import Any

from differential.sequence import Sequence, delete, get, patch, post, put

INTERFACES = "smd:/hsm/v2/Inventory/EthernetInterfaces"
MAPS = "smd:/hsm/v2/sysinfo/powermaps"
SCN = "smd:/hsm/v2/Subscriptions/SCN"
MAC, ONE, MISSING = "00:40:a6:00:00:01", f"{INTERFACES}/0040a6000001", f"{INTERFACES}/0040a6000009"
FEED = {"id": "x0c0s1b0n0", "poweredBy": ["x0m0p0v01", "X0m1p0v1"]}
ME = {"Subscriber": "a@x", "Url": "http://127.0.0.1:1/a"}
NEW: tuple[Any, ...] = (
    *({}, [], None, {"MACAddress": "zz:40:a6:00:00:01"}, {"MACAddress": MAC, "ComponentID": "bogus"}),
    *({"MACAddress": MAC, "IPAddresses": [{"Network": "x"}]}, {"MACAddress": MAC, "Description": "a\0b"}),
    {
        "MACAddress": MAC,
        "IPAddresses": [{"IPAddress": "10.1.1.1", "Network": "HMN"}],
        "ComponentID": "X0C0S01B0N0",
        "Description": "a<b",
    },
    *(
        {"MACAddress": "0040A6000001"},
        {"MACAddress": "00-40-a6-00-00-02"},
        {"MACAddress": "0040.a600.0003", "Description": 3},
    ),
    {"MACAddress": "0040.a600.0003", "ComponentID": "x0c0s1b0", "IPAddresses": None},
)
QUERIES = (
    *("MacAddress=00:40:A6:00:00:01", "id=0040A6000002&id=0040a6000003", "id=", "macaddress=", "type=node", "type=foo"),
    *("componentid=X0c0s1b0", "componentid=foo", "componentid=", "ipaddress=10.1.1.1", "network=HMN", "network="),
    *("ipaddress=", "ipaddress=10.1.1.1&network=HMN", "newerthan=foo", "newerthan=2020-01-01T00:00:00Z", "foo=bar"),
    *("olderthan=2020-01-01T00:00:00Z", "olderthan=2050-01-01T00:00:00%2b01:00", "olderthan=2020-13-01T00:00:00Z"),
)
CHANGES: tuple[Any, ...] = (
    *({}, {"Description": "new"}, {"ComponentID": ""}, {"ComponentID": "x0c0s2b0n1"}, {"ComponentID": "foo"}),
    *(
        {"IPAddresses": []},
        {"IPAddresses": [{}]},
        {"IPAddresses": [{"IPAddress": "1.1.1.1"}]},
        {"IPAddresses": None},
        3,
    ),
)
SUBSCRIPTIONS: tuple[Any, ...] = (
    *({}, {"Subscriber": "a"}, ME, {**ME, "Enabled": False}, {**ME, "Roles": ["foo"]}, {**ME, "SubRoles": ["foo"]}),
    *({**ME, "SoftwareStatus": [""]}, {**ME, "States": ["x"]}, {**ME, "States": "off"}),
    {
        **ME,
        "Enabled": True,
        "States": ["ready", "On"],
        "Roles": ["compute"],
        "SubRoles": ["worker"],
        "SoftwareStatus": ["Z"],
    },
    *(
        {**ME, "States": ["off"]},
        {**ME, "Subscriber": "b@x", "States": ["off"]},
        {**ME, "Subscriber": "x" * 300, "Enabled": True},
    ),
    {**ME, "Subscriber": "c@x", "States": ["off"], "Enabled": False, "Roles": []},
)

ADDRESSES: tuple[Any, ...] = (
    *({}, {"IPAddress": "1.1.1.1"}, {"IPAddress": "1.1.1.1"}, {"IPAddress": "1.1.1.2", "Network": "n"}),
    3,
)
FEEDS: tuple[Any, ...] = (
    *([], {}, [{}], [{**FEED, "id": "foo"}], [FEED, {**FEED, "poweredBy": ["z"]}], [FEED], [{"id": 3}]),
)
FEED_CHANGES: tuple[Any, ...] = ({}, {"poweredBy": ["x0"]}, FEED, {"poweredBy": ["z"]}, [])

TRIGGERS: tuple[Any, ...] = (
    *({}, {"Op": "foo"}, {"Op": "Add"}, {"Op": "Add", "States": ["x"]}, []),
    *({"Op": "Add", "States": ["Halt", "ready", "Ready", "Ready"]}, {"Op": "add", "Enabled": True}),
    *({"Op": "remove", "States": ["Halt", "ready"], "Enabled": True}, {"Op": "replace", "States": ["Off"]}),
)

SEQUENCES = [
    Sequence(
        "Ethernet interfaces",
        *(post(INTERFACES, body) for body in NEW),
        get(INTERFACES),
        *(get(f"{INTERFACES}?{query}") for query in QUERIES),
        *(patch(where, body) for body in CHANGES for where in (ONE, MISSING)),
        get(INTERFACES),
        delete(f"{INTERFACES}/0040A6000002"),
        delete(f"{INTERFACES}/abc"),
        get(f"{INTERFACES}/abc"),
        delete(INTERFACES),
        delete(INTERFACES),
    ),
    Sequence(
        "addresses of Ethernet interfaces",
        post(INTERFACES, {"MACAddress": MAC}),
        *(post(f"{where}/IPAddresses", body) for body in ADDRESSES for where in (ONE, MISSING)),
        *(
            patch(f"{where}/IPAddresses/{address}", {"Network": network})
            for where in (ONE, MISSING)
            for address, network in (("1.1.1.1", "NMN"), ("1.1.1.9", "NMN"), ("1.1.1.2", ""))
        ),
        get(f"{ONE}/IPAddresses"),
        get(f"{MISSING}/IPAddresses"),
        *(delete(f"{where}/IPAddresses/{address}") for where in (ONE, MISSING) for address in ("1.1.1.9", "1.1.1.1")),
        get(INTERFACES),
    ),
    Sequence(
        "power maps",
        *(post(MAPS, body) for body in FEEDS),
        get(MAPS),
        *(get(f"{MAPS}/{name}") for name in ("X0C0S1b0n0", "x0", "foo")),
        *(put(f"{MAPS}/x0c0s2b0n0", body) for body in FEED_CHANGES),
        put(f"{MAPS}/foo", {"poweredBy": ["x0"]}),
        get(MAPS),
        *(delete(f"{MAPS}{name}") for name in ("/x0c0s1b0n0", "/x0", "/foo", "", "")),
    ),
    Sequence(
        "subscriptions",
        get(SCN),
        *(post(SCN, body) for body in SUBSCRIPTIONS),
        get(SCN),
        *(get(f"{SCN}/{number}") for number in ("1", "9", "0", "x", "-1", "99999999999", "9" * 25)),
        *(step for body in TRIGGERS for step in (patch(f"{SCN}/1", body), patch(f"{SCN}/9", body), get(SCN))),
        *(put(f"{SCN}/{number}", {**ME, "States": ["off"]}) for number in ("1", "9", "x", "99999999999")),
        put(f"{SCN}/1", {}),
        put(f"{SCN}/1", {**ME, "Subscriber": "b@x", "States": ["off"]}),
        put(f"{SCN}/x", raw=b"{"),
        get(SCN),
        *(delete(f"{SCN}/{number}") for number in ("1", "1", "x", "99999999999")),
        delete(SCN),
        get(SCN),
    ),
]
