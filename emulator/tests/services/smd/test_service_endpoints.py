"""Service endpoints: the Redfish services of a controller."""

from __future__ import annotations

from services.smd.hsm_client import Hsm

ENDPOINTS = "/Inventory/ServiceEndpoints"
BMC = "x1000c0s0b0"


def test_every_controller_offers_the_same_services(tiny_hsm: Hsm) -> None:
    endpoints = tiny_hsm.read(ENDPOINTS)["ServiceEndpoints"]
    controllers = {endpoint["RedfishEndpointID"] for endpoint in endpoints}
    assert len(endpoints) == 5 * len(controllers)
    updates = tiny_hsm.read(f"{ENDPOINTS}/UpdateService")["ServiceEndpoints"]
    assert {endpoint["RedfishEndpointID"] for endpoint in updates} == controllers


def test_one_is_read_and_deleted(tiny_hsm: Hsm) -> None:
    one = f"{ENDPOINTS}/UpdateService/RedfishEndpoints/{BMC}"
    record = tiny_hsm.read(one)
    assert record["RedfishURL"] == f"{BMC}/redfish/v1/UpdateService"
    assert record["ServiceInfo"]["@odata.id"] == "/redfish/v1/UpdateService"
    tiny_hsm.do("DELETE", one)
    assert tiny_hsm.refusal("GET", one) == (404, "no such service under redfish endpoint.")
    assert tiny_hsm.refusal("DELETE", one) == (404, "no such service under redfish endpoint.")


def test_names_that_are_none(hsm: Hsm) -> None:
    assert hsm.refusal("GET", f"{ENDPOINTS}/a-b") == (400, "Argument was not a valid HMS Type")
    assert hsm.refusal("GET", f"{ENDPOINTS}?redfish_ep=toaster") == (400, "Argument was not a valid xname ID")
    assert hsm.read(ENDPOINTS) == {"ServiceEndpoints": []}
    assert hsm.refusal("DELETE", ENDPOINTS) == (404, "no entries to delete")
