"""Hardware inventory: the parts of the machine, and entries that clients write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from csm_emulator.machine.parts import Part
from csm_emulator.machine.topology.blades import load_catalogue
from csm_emulator.services.smd.hardware.locations import place_facts
from csm_emulator.site import Site
from services.smd.hsm_client import Hsm

HARDWARE, FRUS = "/Inventory/Hardware", "/Inventory/HardwareByFRU"
NODE = "x1000c0s0b0n0"


def posted(xname: str, serial: str = "S1", **fru: Any) -> Any:
    info = {"Manufacturer": "HPE", "PartNumber": "P-1.2", "SerialNumber": serial, **fru}
    return {"ID": xname, "NodeLocationInfo": {"Id": "Node0"}, "PopulatedFRU": {"NodeFRUInfo": info}}


def add(hsm: Hsm, *records: Any) -> None:
    hsm.do("POST", HARDWARE, {"Hardware": list(records)})


def test_a_node_of_the_machine_with_what_is_in_it(tiny_hsm: Hsm) -> None:
    model = tiny_hsm.site.machine.topology.parts[NODE].model
    assert model
    inventory = tiny_hsm.read(f"{HARDWARE}/Query/{NODE}")
    (node,) = inventory["Nodes"]
    counts = {fitting.fru.kind: 0 for fitting in model.fittings}
    for fitting in model.fittings:
        counts[fitting.fru.kind] += fitting.count
    arrays = {"Processor": "Processors", "Memory": "Memory", "NodeAccel": "NodeAccels", "NodeHsnNic": "NodeHsnNics"}
    assert {kind: len(node[arrays[kind]]) for kind in counts if kind in arrays} == {
        kind: count for kind, count in counts.items() if kind in arrays
    }
    assert node["PopulatedFRU"]["NodeFRUInfo"]["Model"] == model.board.model
    assert list(node)[:5] == ["ID", "Type", "Ordinal", "Status", "HWInventoryByLocationType"]


def test_every_fru_of_the_machine_is_found_by_its_id_and_has_one_place(tiny_hsm: Hsm) -> None:
    places = tiny_hsm.read(HARDWARE)
    ids = [place["PopulatedFRU"]["FRUID"] for place in places]
    assert len(set(ids)) == len(ids) > 100
    assert {fru["FRUID"] for fru in tiny_hsm.read(FRUS)} == set(ids)
    for place in places:
        assert tiny_hsm.read(f"{FRUS}/{place['PopulatedFRU']['FRUID']}") == place["PopulatedFRU"]
        assert tiny_hsm.read(f"{HARDWARE}/{place['ID']}") == place


def test_a_list_shows_what_was_put_in_place_of_what_the_machine_has(tiny_hsm: Hsm) -> None:
    places_before = {place["ID"]: place for place in tiny_hsm.read(HARDWARE)}
    add(tiny_hsm, posted(NODE, "S9", Model="<new>"))
    places_after = {place["ID"]: place for place in tiny_hsm.read(HARDWARE)}
    assert places_after.pop(NODE) == tiny_hsm.read(f"{HARDWARE}/{NODE}") != places_before.pop(NODE)
    assert places_after == places_before
    assert b"\\u003cnew\\u003e" in tiny_hsm.ask("GET", HARDWARE).body


def test_a_fru_that_was_described_anew_is_so_in_its_place(tiny_hsm: Hsm) -> None:
    fru = tiny_hsm.read(f"{HARDWARE}/{NODE}")["PopulatedFRU"]["NodeFRUInfo"]
    add(
        tiny_hsm,
        posted(
            "x0c0s0b0n0", **{name: fru[name] for name in ("Manufacturer", "PartNumber")}, serial=fru["SerialNumber"]
        ),
    )
    place = next(entry for entry in tiny_hsm.read(HARDWARE) if entry["ID"] == NODE)
    assert place["PopulatedFRU"]["NodeFRUInfo"]["Model"] == ""


def test_serial_numbers_depend_on_the_seed_alone(tiny_hsm: Hsm, open_machine: Callable[[str], Site]) -> None:
    assert Hsm(open_machine("tiny")).read(HARDWARE) == tiny_hsm.read(HARDWARE)


def test_filters(tiny_hsm: Hsm) -> None:
    nodes = tiny_hsm.read(f"{HARDWARE}?type=node")
    assert {entry["Type"] for entry in nodes} == {"Node"}
    assert len(nodes) == len(list(tiny_hsm.site.machine.parts("Node")))
    fru = nodes[0]["PopulatedFRU"]
    serial = fru["NodeFRUInfo"]["SerialNumber"]
    for query in (f"fruid={fru['FRUID']}", f"serialnumber={serial}", f"id={nodes[0]['ID'].upper()}"):
        assert [entry["ID"] for entry in tiny_hsm.read(f"{HARDWARE}?{query}")] == [nodes[0]["ID"]]
    makers = {
        entry["PopulatedFRU"]["ProcessorFRUInfo"]["Manufacturer"]
        for entry in tiny_hsm.read(f"{HARDWARE}?manufacturer=micro%25dev&type=processor")
    }
    assert makers == {"Advanced Micro Devices, Inc."}
    assert tiny_hsm.refusal("GET", f"{HARDWARE}?type=toaster") == (400, "Invalid HMS type")
    assert tiny_hsm.refusal("GET", f"{HARDWARE}?id=toaster") == (400, "Invalid xname")


def test_frus_by_serial_number_follow_changes(tiny_hsm: Hsm) -> None:
    def fru_ids(serial: str) -> list[str]:
        return [fru["FRUID"] for fru in tiny_hsm.read(f"{FRUS}?serialnumber={serial}") or []]

    place = tiny_hsm.read(f"{HARDWARE}?type=node")[0]
    fru, serial = place["PopulatedFRU"]["FRUID"], place["PopulatedFRU"]["NodeFRUInfo"]["SerialNumber"]
    assert fru_ids(serial) == [fru]
    add(tiny_hsm, posted("x0c0s0b0n0", "MINE"))
    both = f"{serial}&serialnumber=MINE&serialnumber=NONE"
    assert (fru_ids("MINE"), sorted(fru_ids(both))) == (["Node.HPE.P12.MINE"], sorted([fru, "Node.HPE.P12.MINE"]))
    assert tiny_hsm.read(f"{FRUS}?serialnumber={serial}&type=processor") == []
    tiny_hsm.do("DELETE", f"{HARDWARE}/{place['ID']}")
    tiny_hsm.do("DELETE", f"{FRUS}/{fru}")
    assert fru_ids(both) == ["Node.HPE.P12.MINE"]


def test_what_is_put_in_comes_back_with_an_id_of_its_own(hsm: Hsm) -> None:
    add(hsm, posted("X0c0s00b0n0"))
    entry = hsm.read(f"{HARDWARE}/x0c0s0b0n0")
    assert entry["PopulatedFRU"]["FRUID"] == "Node.HPE.P12.S1"
    assert entry["NodeLocationInfo"]["ProcessorSummary"] == {"Count": 0, "Model": ""}
    assert entry["PopulatedFRU"]["NodeFRUInfo"]["UUID"] == ""
    add(hsm, posted("x0c0s1b0n0", serial=""))
    assert hsm.read(f"{HARDWARE}/x0c0s1b0n0")["PopulatedFRU"]["FRUID"] == "FRUIDforx0c0s1b0n0"


@pytest.mark.parametrize(
    ("record", "detail"),
    [
        ({}, "ID is empty or not a valid xname"),
        ({"ID": "x0c0s0b0n0"}, "PopulatedFRU must be populated"),
        ({"ID": "x0c0s0b0n0", "PopulatedFRU": {}}, "Component location info is empty"),
        ({"ID": "x0c0s0b0n0", "NodeLocationInfo": {}, "PopulatedFRU": {}}, "FRU info is empty"),
        ({"ID": "s0", "PopulatedFRU": {}}, "HMSType value not supported for this operation"),
    ],
)
def test_incomplete_entries_are_refused_and_nothing_is_stored(hsm: Hsm, record: Any, detail: str) -> None:
    body = {"Hardware": [posted("x0c0s9b0n0"), record]}
    assert hsm.refusal("POST", HARDWARE, body) == (400, detail)
    assert hsm.read(HARDWARE) == []


def test_wrong_types_deep_inside_name_the_field(hsm: Hsm) -> None:
    status, detail = hsm.refusal("POST", HARDWARE, {"Hardware": [posted("x0c0s0b0n0", Model=3)]})
    assert status == 500
    assert detail.endswith("Go struct field SystemFRUInfoRF.Hardware.PopulatedFRU.NodeFRUInfo.Model of type string")


def test_history_tells_what_was_where(hsm: Hsm) -> None:
    add(hsm, posted("x0c0s0b0n0", "S1"))
    hsm.site.step(10)
    add(hsm, posted("x0c0s0b0n0", "S1"))
    add(hsm, posted("x0c0s0b0n0", "S2"))
    hsm.site.step(10)
    add(hsm, posted("x0c0s1b0n0", "S1"))
    events = hsm.read(f"{HARDWARE}/History/x0c0s0b0n0")["History"]
    assert [(event["FRUID"][-2:], event["EventType"]) for event in events] == [("S1", "Detected"), ("S2", "Detected")]
    moves = hsm.read(f"{FRUS}/History/Node.HPE.P12.S1")["History"]
    assert [event["ID"] for event in moves] == ["x0c0s0b0n0", "x0c0s1b0n0"]
    later = hsm.read(f"{HARDWARE}/History?starttime={events[0]['Timestamp']}")["Components"]
    assert [event["ID"] for event in later] == ["x0c0s0b0n0", "x0c0s1b0n0"]
    assert hsm.read(f"{HARDWARE}/History?eventtype=removed") == {"Components": None}
    assert hsm.refusal("GET", f"{HARDWARE}/History?starttime=yesterday") == (500, "failed to query DB.")
    assert hsm.refusal("GET", f"{HARDWARE}/History?eventtype=lost") == (400, "Invalid HWInvHist event type")


def test_a_fru_in_a_location_cannot_be_deleted(hsm: Hsm) -> None:
    add(hsm, posted("x0c0s0b0n0"))
    assert hsm.refusal("DELETE", f"{FRUS}/Node.HPE.P12.S1") == (500, "failed to query DB.")
    assert hsm.refusal("DELETE", FRUS) == (500, "DB query failed.")
    hsm.do("DELETE", f"{HARDWARE}/x0c0s0b0n0")
    hsm.do("DELETE", f"{FRUS}/Node.HPE.P12.S1")
    assert hsm.refusal("GET", f"{FRUS}/Node.HPE.P12.S1") == (404, "no such FRU ID.")


def test_queries_nest_or_are_flat(hsm: Hsm) -> None:
    processor = {
        "ID": "x0c0s0b0n0p0",
        "ProcessorLocationInfo": {"Id": "CPU0"},
        "PopulatedFRU": {"ProcessorFRUInfo": {"Manufacturer": "AMD", "SerialNumber": "7"}},
    }
    add(hsm, posted("x0c0s0b0n0"), processor)
    nested = hsm.read(f"{HARDWARE}/Query/all")
    assert [part["ID"] for part in nested["Nodes"][0]["Processors"]] == ["x0c0s0b0n0p0"]
    assert "Processors" not in nested
    flat = hsm.read(f"{HARDWARE}/Query/x0?format=FullyFlat")
    assert set(flat) == {"XName", "Format", "Nodes", "Processors"}
    assert list(hsm.read(f"{HARDWARE}/Query/x0c0s0b0n0?children=false")) == ["XName", "Format", "Nodes"]
    assert set(hsm.read(f"{HARDWARE}/Query/x0c0s0b0n0p0?parents=true")) == {"XName", "Format", "Nodes"}
    assert hsm.refusal("GET", f"{HARDWARE}/Query/X0") == (400, "Invalid xname")
    assert hsm.refusal("GET", f"{HARDWARE}/Query/x0?format=Hierarchical") == (400, "Invalid format")
    assert hsm.refusal("GET", f"{HARDWARE}/Query/x0?parents=maybe") == (400, "Invalid boolean for parents")


def test_a_name_without_parents_ends_the_search(hsm: Hsm) -> None:
    """The real SMD searches for the parents of all_comp without end."""
    assert hsm.ask("GET", f"{HARDWARE}/Query/all_comp?parents=true").status == 200


def test_partitions_take_in_what_is_in_their_nodes(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [NODE]}})
    entries = tiny_hsm.read(f"{HARDWARE}?partition=p1")
    assert entries
    assert all(entry["ID"].startswith(NODE) for entry in entries)
    assert any(entry["Type"] == "Processor" for entry in entries)


@pytest.mark.parametrize(
    ("machine", "processor", "place"),
    [
        ("tiny", f"{NODE}p1", {"Id": "CPU1", "Name": "Processor", "Description": "", "Socket": "CPU1"}),
        ("tiny", "x3000c0s1b0n0p0", {"Id": "1", "Name": "Processors", "Description": "", "Socket": "Proc 1"}),
        (
            "alps-mini",
            "x3001c0s28b1n0p1",
            {"Id": "2", "Name": "Processor 2", "Description": "Processor Instance 2", "Socket": "P1"},
        ),
    ],
)
def test_processors_are_called_so_by_their_controllers(
    open_machine: Callable[[str], Site], machine: str, processor: str, place: Any
) -> None:
    assert Hsm(open_machine(machine)).read(f"{HARDWARE}/{processor}")["ProcessorLocationInfo"] == place


def test_the_processors_of_an_intel_node() -> None:
    model = load_catalogue().blades["Intel"].model
    part = Part("x3000c0s5b0n0", "Node", "x3000c0s5b0", "River", "x3000c0s5b0", model=model)
    processor = next(fitting.fru for fitting in model.fittings if fitting.fru.kind == "Processor")
    expected = {"Id": "CPU2", "Name": "Processor 2", "Description": "", "Socket": "CPU 2"}
    assert place_facts("Processor", 1, part, processor) == expected


def test_what_lies_in_a_liquid_cooled_node_has_the_names_of_its_controller(tiny_hsm: Hsm) -> None:
    nic = tiny_hsm.read(f"{HARDWARE}/{NODE}h0")["NodeHsnNicLocationInfo"]
    assert (nic["Id"], nic["Name"]) == ("HPCNet0", "")
    assert tiny_hsm.read(f"{HARDWARE}/{NODE}d2")["MemoryLocationInfo"]["Name"] == "DIMM2"
    bmc = tiny_hsm.read(f"{HARDWARE}/{NODE.removesuffix('n0')}")["NodeBMCLocationInfo"]
    assert (bmc["Id"], bmc["Name"]) == ("BMC", "BMC")


def test_a_switch_blade_is_a_blade_to_redfish(open_machine: Callable[[str], Site]) -> None:
    endpoints = Hsm(open_machine("alps-mini")).read("/Inventory/ComponentEndpoints?type=RouterModule")
    liquid = [endpoint for endpoint in endpoints["ComponentEndpoints"] if "/Perif" in endpoint["OdataID"]]
    assert {endpoint["RedfishSubtype"] for endpoint in liquid} == {"Blade"}


def test_a_query_shows_what_came_and_not_what_went(tiny_hsm: Hsm) -> None:
    def inside(query: str = "") -> set[str]:
        inventory = tiny_hsm.read(f"{HARDWARE}/Query/{NODE}?format=FullyFlat{query}")
        return {entry["ID"] for name, value in inventory.items() if isinstance(value, list) for entry in value}

    names_before = inside()
    processor, new = f"{NODE}p0", f"{NODE}p3"
    fru = tiny_hsm.read(f"{HARDWARE}/{processor}")["PopulatedFRU"]
    tiny_hsm.do("DELETE", f"{HARDWARE}/{processor}")
    record = {"ID": new, "ProcessorLocationInfo": {"Id": "CPU3"}, "PopulatedFRU": fru}
    add(tiny_hsm, record)
    assert inside() == names_before - {processor} | {new}
    assert inside("&type=Processor") == {f"{NODE}p1", new}
    assert [place["ID"] for place in tiny_hsm.read(f"{HARDWARE}?fruid={fru['FRUID']}")] == [new]
    history = tiny_hsm.read(f"{FRUS}/History/{fru['FRUID']}")["History"]
    assert [place["ID"] for place in history] == [processor, new]
    assert tiny_hsm.refusal("DELETE", f"{FRUS}/{fru['FRUID']}") == (500, "failed to query DB.")
