"""Discovery takes some seconds, stores the data of a controller, and fails for a silent one."""

from __future__ import annotations

from csm_emulator.machine.faults.faults import Fault
from services.smd.hsm_client import COMPONENTS, Hsm

DISCOVER, ENDPOINTS = "/Inventory/Discover", "/Inventory/RedfishEndpoints"
BMC, NODE = "x1000c0s0b0", "x1000c0s0b0n0"
LONG = 30.0


def status(hsm: Hsm, xname: str = BMC) -> str:
    return str(hsm.read(f"{ENDPOINTS}/{xname}")["DiscoveryInfo"]["LastDiscoveryStatus"])


def fault(hsm: Hsm, kind: str, targets: str) -> None:
    hsm.site.set_fault(Fault(hsm.site.faults.new_id(), kind, targets))


def test_it_takes_a_while_and_brings_back_what_was_deleted(tiny_hsm: Hsm) -> None:
    places_before = {
        path: tiny_hsm.read(path)
        for path in (
            f"/Inventory/ComponentEndpoints/{NODE}",
            f"/Inventory/Hardware/Query/{NODE}",
            f"/Inventory/ServiceEndpoints?redfish_ep={BMC}",
        )
    }
    tiny_hsm.do("DELETE", f"{ENDPOINTS}/{BMC}")
    tiny_hsm.do("DELETE", f"{COMPONENTS}/{NODE}")
    tiny_hsm.do("POST", ENDPOINTS, {"ID": BMC, "RediscoverOnUpdate": True})
    assert status(tiny_hsm) == "DiscoveryStarted"
    assert tiny_hsm.refusal("GET", f"/Inventory/ComponentEndpoints/{NODE}")[0] == 404
    tiny_hsm.site.step(LONG)
    assert status(tiny_hsm) == "DiscoverOK"
    for path, value in places_before.items():
        assert tiny_hsm.read(path) == value
    assert tiny_hsm.state(NODE) == "Ready/OK"
    assert tiny_hsm.read(f"{COMPONENTS}/{NODE}")["NID"] == 1000
    history = tiny_hsm.read(f"/Inventory/Hardware/History/{NODE}")["History"]
    assert [event["EventType"] for event in history] == ["Detected", "Removed", "Detected"]


def test_a_controller_that_does_not_answer(tiny_hsm: Hsm) -> None:
    fault(tiny_hsm, "bmc-unreachable", BMC)
    reply = tiny_hsm.do("POST", DISCOVER, {"xnames": [BMC]})
    assert reply.json() == [{"URI": "/hsm/v2/Inventory/DiscoveryStatus/0"}]
    tiny_hsm.site.step(LONG)
    assert status(tiny_hsm) == "HTTPsGetFailed"
    assert tiny_hsm.state(NODE) == "Ready/OK"


def test_a_controller_that_is_not_part_of_the_machine(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("POST", ENDPOINTS, {"ID": "x9c0s0b0", "RediscoverOnUpdate": True})
    tiny_hsm.site.step(LONG)
    assert status(tiny_hsm, "x9c0s0b0") == "HTTPsGetFailed"


def test_only_those_that_are_enabled_and_not_busy_are_read(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("PATCH", f"{ENDPOINTS}/{BMC}", {"Enabled": False})
    tiny_hsm.do("POST", DISCOVER, {})
    assert status(tiny_hsm) == "DiscoverOK"
    endpoints = tiny_hsm.read(f"{ENDPOINTS}?laststatus=DiscoveryStarted")["RedfishEndpoints"]
    assert len(endpoints) == len(tiny_hsm.read(ENDPOINTS)["RedfishEndpoints"]) - 1
    tiny_hsm.do("POST", DISCOVER, {"force": True})
    tiny_hsm.site.step(LONG)
    assert tiny_hsm.read(f"{ENDPOINTS}?laststatus=DiscoveryStarted") == {"RedfishEndpoints": []}


def test_states_follow_the_hardware_but_a_running_node_stays_ready(tiny_hsm: Hsm) -> None:
    down = "x1000c0s0b1n0"
    tiny_hsm.do("PATCH", f"{COMPONENTS}/{down}/StateData", {"State": "On", "Force": True})
    tiny_hsm.do("PATCH", f"{COMPONENTS}/{NODE}/Role", {"Role": "Service"})
    tiny_hsm.do("POST", DISCOVER, {})
    tiny_hsm.site.step(LONG)
    assert tiny_hsm.state(down) == "Off/OK"
    assert tiny_hsm.state(NODE) == "Ready/OK"
    assert tiny_hsm.read(f"{COMPONENTS}/{NODE}")["Role"] == "Service"


def test_a_stale_inventory_stays_as_it_was(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("DELETE", f"{ENDPOINTS}/{BMC}")
    fault(tiny_hsm, "stale-inventory", NODE)
    tiny_hsm.do("POST", ENDPOINTS, {"ID": BMC, "RediscoverOnUpdate": True})
    tiny_hsm.site.step(LONG)
    assert status(tiny_hsm) == "DiscoverOK"
    assert tiny_hsm.state(NODE) == "Empty/OK"
    assert tiny_hsm.refusal("GET", f"/Inventory/Hardware/{NODE}")[0] == 404


def test_requests_without_known_endpoints(hsm: Hsm) -> None:
    assert hsm.refusal("POST", DISCOVER, {}) == (404, "RedfishEndpoints collection is empty")
    assert hsm.refusal("POST", DISCOVER, {"xnames": ["x0c0s0b0"]}) == (404, "No such RedfishEndpoint: x0c0s0b0")
    for body in (b"", b"{", b"[]", b'{"xnames":"x0"}'):
        assert hsm.refusal("POST", DISCOVER, body) == (400, "POST body was not understood")


def test_there_is_one_status_and_it_never_changes(tiny_hsm: Hsm) -> None:
    """A quirk of SMD: no code ever writes this field."""
    (only,) = tiny_hsm.read("/Inventory/DiscoveryStatus")
    assert (only["ID"], only["Status"]) == (0, "NotStarted")
    assert tiny_hsm.read("/Inventory/DiscoveryStatus/0") == only
    assert tiny_hsm.refusal("GET", "/Inventory/DiscoveryStatus/1") == (404, "no such DiscoveryStatus ID.")
    assert tiny_hsm.refusal("GET", "/Inventory/DiscoveryStatus/x")[0] == 400
