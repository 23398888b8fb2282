"""Hardware by location and by FRU, and its history."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.values import Json, Steps, Values, asks, queried, sends, some, spoiled, under
from differential.sequence import post

BASE = "smd:/hsm/v2/Inventory"
KINDS = {
    "x0c0s0b0n0": ("Node", "Node"),
    "x0c0s0b0n1": ("Node", "Node"),
    "x0c0s0b0n0p0": ("Processor", "Processor"),
    "x0c0s0b0n0d1": ("Memory", "Memory"),
    "x0c0s0b0": ("NodeBMC", "NodeBMC"),
    "x0c0": ("Chassis", "Chassis"),
}
FRUS = ("FRU.1", "FRU.2", "FRU.3", "", "odd fru")
places = st.sampled_from((*KINDS, "x0c0s1b0n0", "s0", "foo", "X0C0S0B0N0"))
path_frus = st.sampled_from(("FRU.1", "FRU.2", "FRU.9"))
FILTERS = {
    "id": places,
    "type": st.sampled_from(("Node", "Processor", "bad")),
    "manufacturer": st.sampled_from(("HPE", "hpe", "none")),
    "partnumber": st.sampled_from(("P1", "P2")),
    "serialnumber": st.sampled_from(("S1", "S2")),
    "fruid": path_frus,
}
HISTORY = {
    "id": places,
    "fruid": path_frus,
    "eventtype": st.sampled_from(("Added", "Removed", "Detected", "Scanned", "added", "bad")),
    "starttime": st.sampled_from(("2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "now")),
    "endtime": st.sampled_from(("2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "now")),
}
QUERY = {
    "type": st.sampled_from(("Node", "bad")),
    "children": st.sampled_from(("true", "false", "x")),
    "parents": st.sampled_from(("true", "false")),
    "format": st.sampled_from(("FullyFlat", "Hierarchical", "NestNodesOnly", "bad")),
    "partition": st.sampled_from(("p1", "bad")),
}
facts = some(
    {
        "Manufacturer": st.sampled_from(("HPE", "")),
        "PartNumber": st.just("P1"),
        "SerialNumber": st.sampled_from(("S1", "S2")),
    }
)


def entry(place: str, fru: str, fru_info: Json, location_info: Json) -> Json:
    """One location with the FRU in it."""
    kind, info = KINDS.get(place, ("Node", "Node"))
    return {
        "ID": place,
        "Type": kind,
        "Ordinal": 0,
        "Status": "Populated",
        "HWInventoryByLocationType": f"HWInvByLoc{kind}",
        f"{info}LocationInfo": {"Id": "1", "Name": "one", "Description": "", **location_info},
        "PopulatedFRU": {
            "FRUID": fru,
            "Type": kind,
            "HWInventoryByFRUType": f"HWInvByFRU{kind}",
            f"{info}FRUInfo": fru_info,
        },
    }


entries: Values = spoiled(
    st.builds(
        entry,
        st.one_of(st.sampled_from(tuple(KINDS)), places),
        st.sampled_from(FRUS),
        facts,
        st.sampled_from(({}, {"Hostname": "h", "Socket": "CPU 1"})),
    ),
    often=6,
)


def creations() -> Steps:
    """Valid hardware."""
    return st.builds(
        lambda place, fru: post(f"{BASE}/Hardware", {"Hardware": [entry(place, fru, {"Manufacturer": "HPE"}, {})]}),
        st.sampled_from(tuple(KINDS)),
        st.sampled_from(FRUS[:3]),
    )


def steps() -> Steps:
    queries = st.sampled_from((*KINDS, "s0", "all", "foo")).flatmap(
        lambda place: asks("GET", queried(f"{BASE}/Hardware/Query/{place}", QUERY))
    )
    return st.one_of(
        sends("POST", f"{BASE}/Hardware", some({}, Hardware=st.lists(entries, max_size=3))),
        sends("POST", f"{BASE}/Hardware", some({}, Hardware=st.lists(entries, max_size=3))),
        asks("GET", queried(f"{BASE}/Hardware", FILTERS)),
        asks("GET", queried(f"{BASE}/HardwareByFRU", FILTERS)),
        asks("GET", under(f"{BASE}/Hardware", places)),
        asks("GET", under(f"{BASE}/HardwareByFRU", path_frus)),
        queries,
        asks("GET", queried(f"{BASE}/Hardware/History", HISTORY)),
        asks("GET", queried(f"{BASE}/HardwareByFRU/History", HISTORY)),
        asks("GET", under(f"{BASE}/Hardware/History", places)),
        asks("GET", under(f"{BASE}/HardwareByFRU/History", path_frus)),
        asks("DELETE", under(f"{BASE}/Hardware", places)),
        asks("DELETE", under(f"{BASE}/HardwareByFRU", path_frus)),
        asks("DELETE", under(f"{BASE}/Hardware/History", places)),
        asks("DELETE", under(f"{BASE}/HardwareByFRU/History", path_frus)),
        st.sampled_from(("Hardware", "HardwareByFRU", "Hardware/History")).flatmap(
            lambda what: asks("DELETE", f"{BASE}/{what}")
        ),
    )
