"""Redfish endpoints: valid fields, and the effects of a deletion."""

from __future__ import annotations

from typing import Any

import pytest

from services.smd.hsm_client import COMPONENTS, Hsm

ENDPOINTS = "/Inventory/RedfishEndpoints"
BMC, NODE = "x1000c0s0b0", "x1000c0s0b0n0"


def test_every_controller_of_the_machine_was_discovered(tiny_hsm: Hsm) -> None:
    endpoints = {endpoint["ID"]: endpoint for endpoint in tiny_hsm.read(ENDPOINTS)["RedfishEndpoints"]}
    machine = tiny_hsm.site.machine
    controllers = [part.xname for part in machine.parts("NodeBMC", "ChassisBMC", "RouterBMC", "CabinetPDUController")]
    assert set(endpoints) == set(controllers)
    assert endpoints[BMC]["DiscoveryInfo"]["LastDiscoveryStatus"] == "DiscoverOK"
    assert (endpoints[BMC]["FQDN"], endpoints[BMC]["User"], endpoints[BMC]["Enabled"]) == (BMC, "root", True)
    assert tiny_hsm.read(f"{ENDPOINTS}/Query/all")["RedfishEndpoints"] == list(endpoints.values())


def test_names_and_addresses_must_agree(hsm: Hsm) -> None:
    reply = hsm.do("POST", ENDPOINTS, {"FQDN": "X0C0S01B0.local.net"})
    assert dict(reply.headers)["Location"] == f"{ENDPOINTS.replace('/', '/hsm/v2/', 1)}/x0c0s1b0"
    record = hsm.read(f"{ENDPOINTS}/x0c0s1b0")
    assert (record["Hostname"], record["Domain"], record["Type"]) == ("X0C0S01B0", "local.net", "NodeBMC")
    assert record["DiscoveryInfo"] == {"LastDiscoveryStatus": "NotYetQueried"}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"ID": ""}, "No xname ID found"),
        ({"ID": "x0c0s0b0n0"}, "xname ID x0c0s0b0n0 has wrong type for RF endpoint: Node"),
        ({"ID": "toaster"}, "toaster is not a valid locational xname ID"),
        ({"ID": BMC, "Hostname": "a.b"}, "Hostname is not a basename or IP address."),
        ({"ID": BMC, "Hostname": "a", "FQDN": "b"}, "host/domain conflicts with FQDN: 'a' != 'b'"),
        ({"ID": BMC, "IPAddress": "ten"}, "IPAddress is not a valid IP address: 'ten'"),
    ],
)
def test_endpoints_that_are_none(hsm: Hsm, body: Any, detail: str) -> None:
    assert hsm.refusal("POST", ENDPOINTS, body) == (400, f"couldn't validate endpoint data: {detail}")
    many = {"RedfishEndpoints": [{"ID": "x9c0b0"}, body]}
    assert hsm.refusal("POST", ENDPOINTS, many) == (400, f"couldn't validate endpoint data at idx 1: {detail}")
    assert hsm.read(ENDPOINTS) == {"RedfishEndpoints": []}


def test_xname_and_fqdn_are_unique(hsm: Hsm) -> None:
    hsm.do("POST", ENDPOINTS, {"ID": BMC, "FQDN": "bmc"})
    same = "operation would conflict with an existing resource that has the same FQDN"
    assert hsm.refusal("POST", ENDPOINTS, {"ID": BMC}) == (409, f"{same} or xname ID.")
    assert hsm.refusal("POST", ENDPOINTS, {"ID": "x0c0b0", "FQDN": "bmc"}) == (409, f"{same} or xname ID.")
    hsm.do("POST", ENDPOINTS, {"ID": "x0c0b0"})
    assert hsm.refusal("PUT", f"{ENDPOINTS}/x0c0b0", {"FQDN": "bmc"}) == (409, same)


def test_patch_and_put(hsm: Hsm) -> None:
    hsm.do("POST", ENDPOINTS, {"ID": BMC, "User": "root", "Name": "one"})
    assert hsm.do("PATCH", f"{ENDPOINTS}/{BMC.upper()}", {"User": "me", "ID": "x1"}).json()["User"] == "me"
    assert hsm.do("PUT", f"{ENDPOINTS}/{BMC}", {"Password": "p"}).json() == {
        **hsm.read(f"{ENDPOINTS}/{BMC}"),
        "User": "",
        "Password": "",
    }
    assert "Name" not in hsm.read(f"{ENDPOINTS}/{BMC}")
    assert hsm.refusal("PATCH", f"{ENDPOINTS}/x9c0b0", {}) == (404, "No such entry: x9c0b0")
    assert hsm.refusal("PATCH", f"{ENDPOINTS}/toaster", {}) == (400, "xname in URL is not valid")
    assert hsm.refusal("PUT", f"{ENDPOINTS}/{BMC}", {"ID": "x1c0b0"}) == (400, "xname in URL and PUT body do not match")


def test_deleting_one_empties_what_it_held(tiny_hsm: Hsm) -> None:
    fru = tiny_hsm.read(f"/Inventory/Hardware/{NODE}")["PopulatedFRU"]["FRUID"]
    tiny_hsm.do("DELETE", f"{ENDPOINTS}/{BMC}")
    assert tiny_hsm.state(NODE) == "Empty/OK"
    assert tiny_hsm.refusal("GET", f"/Inventory/ComponentEndpoints/{NODE}")[0] == 404
    assert tiny_hsm.refusal("GET", f"/Inventory/Hardware/{NODE}")[0] == 404
    assert tiny_hsm.read(f"/Inventory/HardwareByFRU/{fru}")["FRUID"] == fru
    last = tiny_hsm.read(f"/Inventory/Hardware/History/{NODE}")["History"][-1]
    assert (last["FRUID"], last["EventType"]) == (fru, "Removed")
    assert tiny_hsm.state("x1000c0s0b1n0") != "Empty/OK"
    assert tiny_hsm.read(f"/Inventory/ServiceEndpoints?redfish_ep={BMC}") == {"ServiceEndpoints": []}


def test_disabling_one_empties_its_components_and_keeps_the_rest(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("PATCH", f"{ENDPOINTS}/{BMC}", {"Enabled": False})
    assert tiny_hsm.state(NODE) == "Empty/OK"
    assert tiny_hsm.read(f"/Inventory/ComponentEndpoints/{NODE}")["Enabled"] is False


def test_deleting_all(tiny_hsm: Hsm) -> None:
    count = len(tiny_hsm.read(ENDPOINTS)["RedfishEndpoints"])
    assert tiny_hsm.do("DELETE", ENDPOINTS).json() == {"code": 0, "message": f"deleted {count} entries"}
    assert tiny_hsm.refusal("DELETE", ENDPOINTS) == (404, "no entries to delete")
    assert {component["State"] for component in tiny_hsm.read(f"{COMPONENTS}?type=node")["Components"]} == {"Empty"}


def test_garbage(hsm: Hsm) -> None:
    assert hsm.refusal("DELETE", f"{ENDPOINTS}/a-b") == (400, "Argument was not a valid xname ID")
    assert hsm.refusal("POST", ENDPOINTS, {"ID": BMC, "Name": "\0"})[0] == 500
    assert hsm.refusal("POST", ENDPOINTS, {"ID": BMC, "User": "u" * 129})[0] == 500
    assert hsm.ask("POST", ENDPOINTS, b"null").status == 204
    assert hsm.read(ENDPOINTS) == {"RedfishEndpoints": []}
