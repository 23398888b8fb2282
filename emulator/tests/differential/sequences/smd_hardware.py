"""SMD: hardware of every type written by clients, read by place, by FRU and by query, and its history."""

from __future__ import annotations

from typing import Any

from differential.sequence import Sequence, delete, get, post

HARDWARE, FRUS = "smd:/hsm/v2/Inventory/Hardware", "smd:/hsm/v2/Inventory/HardwareByFRU"
ALL = (get(HARDWARE), get(FRUS))


def one(xname: str, stem: str, place: Any, **info: Any) -> dict[str, Any]:
    return {"ID": xname, f"{stem}LocationInfo": place, "PopulatedFRU": {f"{stem}FRUInfo": info}}


def node(xname: str, serial: str = "S1", **info: Any) -> dict[str, Any]:
    place = {
        "Id": "Self",
        "ProcessorSummary": {"Count": 2, "Model": "m"},
        "MemorySummary": {"TotalSystemMemoryGiB": 512},
    }
    return one(xname, "Node", place, Manufacturer="Cray", PartNumber="P-1", SerialNumber=serial, **info)


def add(*records: Any) -> Any:
    return post(HARDWARE, {"Hardware": list(records)})


WHOLE = (
    node("X0c0s00b0n0"),
    one(
        "x0c0s0b0n0p0",
        "Processor",
        {"Id": "0"},
        Manufacturer="AMD <b>",
        SerialNumber="A",
        TotalCores=64,
        MaxSpeedMHz="9",
    ),
    one("x0c0s0b0n0a0", "NodeAccel", {"Id": "GPU0"}, Manufacturer="NVIDIA", SerialNumber="G", PartNumber="9-0"),
    one(
        "x0c0s0b0n0d0", "Memory", {"Id": "D0"}, Manufacturer="Samsung", SerialNumber="M", CapacityMiB=16384, RankCount=0
    ),
    one("x0c0s0b0n0g0k1", "Drive", {"Id": "k"}, Manufacturer="Sam_sung", SerialNumber="D", PartNumber="P%1"),
    one("x0c0s0b0n0h0", "NodeHsnNic", {}, Manufacturer="Mellanox", SerialNumber="H"),
    one(
        "x0c0s0b0n0r0",
        "NodeAccelRiser",
        {},
        Producer="N",
        SerialNumber="R",
        PartNumber="z",
        Oem={"PCBSerialNumber": "3"},
    ),
    *(
        one(xname, stem, {"Id": "Enclosure"}, Manufacturer="Cray", SerialNumber="C", PartNumber="7")
        for xname, stem in (
            *(("x0", "Cabinet"), ("x0c0", "Chassis"), ("x0c0s0", "ComputeModule"), ("x0c0r0", "RouterModule")),
            *(
                ("x0c0s0e0", "NodeEnclosure"),
                ("x0c0r0e0", "HSNBoard"),
                ("x0c0s0b0", "NodeBMC"),
                ("x0c0r0b0", "RouterBMC"),
            ),
            *(("x0c0w1", "MgmtSwitch"), ("x0c0h1s1", "MgmtHLSwitch"), ("d0w1", "CDUMgmtSwitch")),
        )
    ),
    one("x0m0p0", "PDU", {"Id": "1"}, Manufacturer="x", SerialNumber="P", CircuitSummary={"TotalOutlets": 4}),
    one("x0m0p0v1", "Outlet", {"Id": "1"}, OutletType="C13", PowerEnabled=False),
    one("x0m1p0j1", "Outlet", {"Id": "1"}, OutletType="C13"),
    one("x0c0t0", "CMMRectifier", {}, Manufacturer="x", SerialNumber="T", PartNumber="z", PowerOutputWatts=1.5),
    one("x0c0s0e0t0", "NodeEnclosurePowerSupply", {}, Manufacturer="x", SerialNumber="U", PartNumber="z"),
    one("x0c0s7b0n0p0", "Processor", {}, Manufacturer="AMD", SerialNumber="orphan"),
)
FILTERS = (
    *("type=node", "type=node&type=processor", "type=foo", "id=X0c0s0b0n0&id=x0", "id=foo", "manufacturer=cra"),
    *("manufacturer=m%25g", "manufacturer=sam_ung", "manufacturer=", "partnumber=P-1", "serialnumber=S1", "Type=Node"),
    *("fruid=Node.Cray.P1.S1", "fruid=x", "partition=p1", "partition=P%401", "partnumber="),
)
OPTIONS = (
    *("", "?format=fullyflat", "?format=Hierarchical", "?type=node", "?type=node&children=false", "?type=processor"),
    *(
        "?type=foo",
        "?children=false",
        "?children=x",
        "?parents=true",
        "?parents=1&children=true",
        "?type=cdu",
        "?parents=x",
    ),
    *("?parents=t&children=true&type=node", "?parents=true&type=chassis", "?partition=p1", "?partition=p%401"),
    "?parents=true&children=TRUE&partition=p1",
)
NONE: tuple[Any, ...] = (
    *(
        {},
        {"ID": "foo"},
        {"ID": "x0c0s0b0n0"},
        {"ID": "x0c0s0b0n0", "PopulatedFRU": {}},
        {"ID": "s0", "PopulatedFRU": {}},
    ),
    *(
        {"ID": "x0c0s0b0n0", "NodeLocationInfo": {}, "PopulatedFRU": {}},
        {"Ordinal": "a"},
        {"Nodes": [3]},
        {"Nodes": 3},
        3,
    ),
    *(node("x0c0s8b0n0", Model=3), one("x0m9p0v99999999999999999", "Outlet", {}), {"NodeLocationInfo": {"Id": []}}),
)

SEQUENCES = [
    Sequence(
        "hardware that is none",
        *ALL,
        *(add(record) for record in NONE),
        *(post(HARDWARE, raw=raw) for raw in (b"", b"{", b"null", b"{}", b"[]")),
        *(get(f"{HARDWARE}/{name}") for name in ("x0", "foo", "History", "History/x0", "History/foo", "a%00")),
        *(get(f"{FRUS}/{name}") for name in ("foo", "History", "History/zz", "a%00")),
        *(delete(f"{HARDWARE}{name}") for name in ("", "/x0", "/History", "/History/x0", "/History/foo")),
        *(delete(f"{FRUS}{name}") for name in ("", "/x", "/History/x", "/History")),
        *ALL,
    ),
    Sequence(
        "hardware of every type",
        add(*WHOLE),
        *ALL,
        *(get(f"{HARDWARE}?{query}") for query in FILTERS),
        *(get(f"{FRUS}?{query}") for query in FILTERS),
        get(f"{HARDWARE}/X0C0S0B0N0"),
        get(f"{FRUS}/Node.Cray.P1.S1"),
    ),
    *(
        Sequence(
            f"hardware queried below {name}",
            add(*WHOLE),
            post("smd:/hsm/v2/State/Components", {"Components": [{"ID": "x0c0s0b0n0", "State": "On"}]}),
            post("smd:/hsm/v2/partitions", {"name": "p1", "members": {"ids": ["x0c0s0b0n0"]}}),
            *(get(f"{HARDWARE}/Query/{name}{option}") for option in OPTIONS),
            *(get(f"{HARDWARE}?partition=p1{more}") for more in ("", "&type=node")),
        )
        for name in ("all", "s0", "x0", "x0c0s0", "x0c0s0b0n0", "x0c0s0b0n0p0", "X0", "foo", "p1", "x9", "x0m0")
    ),
    Sequence(
        "what was where",
        add(node("x0c0s0b0n0", "S1"), node("x0c0s1b0n0", "S2"), node("x0c0s1b0n0", "S9")),
        add(node("x0c0s0b0n0", "S1")),
        add(node("x0c0s0b0n0", "S3")),
        add(node("x0c0s0b0n0", "S1")),
        *(get(f"{HARDWARE}/History/{name}") for name in ("x0c0s0b0n0", "X0C0S1B0N0")),
        get(f"{FRUS}/History/Node.Cray.P1.S1"),
        *(
            get(f"{base}/History?{query}")
            for base in (HARDWARE, FRUS)
            for query in (
                *("", "id=x0c0s1b0n0", "id=foo", "eventtype=detected", "eventtype=foo", "eventtype=removed"),
                *("starttime=foo", "starttime=2020-01-01T00:00:00Z", "endtime=2020-01-01T00:00:00Z"),
                "fruid=Node.Cray.P1.S1",
            )
        ),
        delete(f"{FRUS}/History/Node.Cray.P1.S1"),
        get(f"{HARDWARE}/History/x0c0s0b0n0"),
        delete(f"{HARDWARE}/History/x0c0s0b0n0"),
        delete(f"{HARDWARE}/History"),
        delete(f"{FRUS}/Node.Cray.P1.S1"),
        delete(FRUS),
        delete(f"{HARDWARE}/X0C0S0B0N0"),
        delete(f"{FRUS}/Node.Cray.P1.S1"),
        delete(HARDWARE),
        delete(FRUS),
        *ALL,
    ),
]
