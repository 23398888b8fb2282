"""Component endpoints: the Redfish address of a component."""

from __future__ import annotations

from services.smd.hsm_client import Hsm

ENDPOINTS = "/Inventory/ComponentEndpoints"
BMC, NODE = "x1000c0s0b0", "x1000c0s0b0n0"


def test_a_node_has_its_reset_types_and_their_target(tiny_hsm: Hsm) -> None:
    record = tiny_hsm.read(f"{ENDPOINTS}/{NODE}")
    assert record["RedfishEndpointID"] == BMC
    assert record["RedfishURL"] == f"{BMC}/redfish/v1/Systems/Node0"
    reset = record["RedfishSystemInfo"]["Actions"]["#ComputerSystem.Reset"]
    assert "ForceOff" in reset["ResetType@Redfish.AllowableValues"]
    macs = {nic["MACAddress"] for nic in record["RedfishSystemInfo"]["EthernetNICInfo"]}
    assert macs == {nic.mac.lower() for nic in tiny_hsm.site.machine.nics(NODE)}


def test_filters(tiny_hsm: Hsm) -> None:
    nodes = tiny_hsm.read(f"{ENDPOINTS}?type=node")["ComponentEndpoints"]
    assert {endpoint["Type"] for endpoint in nodes} == {"Node"}
    endpoints = tiny_hsm.read(f"{ENDPOINTS}?redfish_ep={BMC}")["ComponentEndpoints"]
    assert NODE in {endpoint["ID"] for endpoint in endpoints}
    assert {endpoint["RedfishEndpointID"] for endpoint in endpoints} == {BMC}
    assert NODE not in {endpoint["ID"] for endpoint in tiny_hsm.read(f"{ENDPOINTS}?id=!{NODE}")["ComponentEndpoints"]}
    for query, wrong in (
        ("id=toaster", "xname ID"),
        ("type=toaster", "HMS Type"),
        ("redfish_type=a-b", "Redfish type"),
    ):
        detail = f"bad query param: Argument was not a valid {wrong}"
        assert tiny_hsm.refusal("GET", f"{ENDPOINTS}?{query}") == (400, detail)


def test_deleting_one_empties_the_component_and_leaves_its_hardware(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("DELETE", f"{ENDPOINTS}/{NODE}")
    assert tiny_hsm.state(NODE) == "Empty/OK"
    assert tiny_hsm.read(f"/Inventory/Hardware/{NODE}")["ID"] == NODE
    assert tiny_hsm.refusal("DELETE", f"{ENDPOINTS}/{NODE}") == (404, "no such xname.")


def test_without_any(hsm: Hsm) -> None:
    assert hsm.read(ENDPOINTS) == {"ComponentEndpoints": []}
    assert hsm.refusal("DELETE", ENDPOINTS) == (404, "no entries to delete")
    assert hsm.refusal("GET", f"{ENDPOINTS}/toaster") == (400, "Argument was not a valid xname ID")
