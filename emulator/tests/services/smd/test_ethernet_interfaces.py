"""Ethernet interfaces: MACs, their owners and addresses."""

from __future__ import annotations

from typing import Any

import pytest

from services.smd.hsm_client import Hsm

INTERFACES = "/Inventory/EthernetInterfaces"
MAC, ID, NODE = "00:40:a6:00:00:01", "0040a6000001", "x0c0s0b0n0"


def add(hsm: Hsm, mac: str = MAC, **fields: Any) -> None:
    hsm.do("POST", INTERFACES, {"MACAddress": mac, **fields})


def test_every_nic_of_the_machine_has_its_owner_and_address(tiny_hsm: Hsm) -> None:
    nics = tiny_hsm.site.machine.topology.nics
    interfaces = {interface["MACAddress"]: interface for interface in tiny_hsm.read(INTERFACES)}
    assert set(interfaces) == {nic.mac.lower() for nic in nics}
    for nic in nics:
        record = interfaces[nic.mac.lower()]
        assert record["ComponentID"] == nic.owner
        assert record["IPAddresses"] == ([{"IPAddress": nic.address}] if nic.address else [])
        assert record in tiny_hsm.read(f"{INTERFACES}?ComponentID={nic.owner}")


@pytest.mark.parametrize("text", [MAC, MAC.upper(), "00-40-A6-00-00-01", "0040.a600.0001", "0040a6000001"])
def test_macs_are_taken_in_any_spelling(hsm: Hsm, text: str) -> None:
    add(hsm, text, ComponentID=NODE.upper())
    assert hsm.read(f"{INTERFACES}/{ID}") | {"LastUpdate": ""} == {
        "ID": ID,
        "Description": "",
        "MACAddress": MAC,
        "LastUpdate": "",
        "ComponentID": NODE,
        "Type": "Node",
        "IPAddresses": [],
    }
    conflict = "operation would conflict with an existing component ethernet interface that has the same MAC address."
    assert hsm.refusal("POST", INTERFACES, {"MACAddress": MAC}) == (409, conflict)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "MAC string has invalid length"),
        ({"MACAddress": "zz40a6000001"}, 'strconv.ParseInt: parsing "zz40a6000001": invalid syntax'),
        ({"MACAddress": MAC, "ComponentID": "toaster"}, "Invalid CompEthInterface component ID"),
        ({"MACAddress": MAC, "IPAddresses": [{}]}, "Invalid CompEthInterface IP Address"),
    ],
)
def test_interfaces_that_are_none(hsm: Hsm, body: Any, detail: str) -> None:
    assert hsm.refusal("POST", INTERFACES, body) == (400, detail)
    assert hsm.read(INTERFACES) == []


def test_addresses_come_and_go(hsm: Hsm) -> None:
    add(hsm, IPAddresses=[{"IPAddress": "10.0.0.1", "Network": "HMN"}])
    hsm.do("POST", f"{INTERFACES}/{ID}/IPAddresses", {"IPAddress": "10.0.0.2"})
    assert hsm.refusal("POST", f"{INTERFACES}/{ID}/IPAddresses", {"IPAddress": "10.0.0.2"})[0] == 409
    hsm.do("PATCH", f"{INTERFACES}/{ID}/IPAddresses/10.0.0.2", {"Network": "NMN"})
    hsm.do("DELETE", f"{INTERFACES}/{ID}/IPAddresses/10.0.0.1")
    assert hsm.read(f"{INTERFACES}/{ID}/IPAddresses") == [{"IPAddress": "10.0.0.2", "Network": "NMN"}]
    assert hsm.refusal("DELETE", f"{INTERFACES}/{ID}/IPAddresses/10.0.0.1")[0] == 404
    assert [interface["ID"] for interface in hsm.read(f"{INTERFACES}?network=NMN")] == [ID]
    assert hsm.read(f"{INTERFACES}?ipaddress=10.0.0.1") == []


def test_the_time_moves_with_the_addresses_alone(hsm: Hsm) -> None:
    add(hsm)
    first = hsm.read(f"{INTERFACES}/{ID}")["LastUpdate"]
    hsm.site.step(10)
    hsm.do("PATCH", f"{INTERFACES}/{ID}", {"Description": "new"})
    assert hsm.read(f"{INTERFACES}/{ID}")["LastUpdate"] == first
    hsm.do("PATCH", f"{INTERFACES}/{ID}", {"IPAddresses": [{"IPAddress": "10.0.0.1"}]})
    assert hsm.read(f"{INTERFACES}/{ID}")["LastUpdate"] != first
    assert [interface["ID"] for interface in hsm.read(f"{INTERFACES}?newerthan={first}")] == [ID]
    assert hsm.read(f"{INTERFACES}?olderthan={first}") == []


def test_an_owner_that_changes_is_found_by_its_new_name(hsm: Hsm) -> None:
    add(hsm, ComponentID=NODE)
    assert [interface["ID"] for interface in hsm.read(f"{INTERFACES}?componentid={NODE}")] == [ID]
    hsm.do("PATCH", f"{INTERFACES}/{ID}", {"ComponentID": "x0c0s1b0n0"})
    assert hsm.read(f"{INTERFACES}?componentid={NODE}") == []
    assert [interface["ID"] for interface in hsm.read(f"{INTERFACES}?componentid=x0c0s1b0n0")] == [ID]


def test_changing_an_unknown_interface_answers_with_an_empty_record(hsm: Hsm) -> None:
    """A quirk of SMD: 200 and an interface without a name."""
    reply = hsm.do("PATCH", f"{INTERFACES}/{ID}", {"Description": "new"}).json()
    assert (reply["ID"], reply["IPAddresses"]) == ("", None)


def test_queries_that_smd_cannot_ask(hsm: Hsm) -> None:
    assert hsm.refusal("GET", f"{INTERFACES}?ipaddress=1&network=2") == (500, "failed to query DB.")
    assert hsm.refusal("GET", f"{INTERFACES}?newerthan=now")[0] == 400
    assert hsm.refusal("GET", f"{INTERFACES}?id=")[0] == 400
    assert hsm.refusal("GET", f"{INTERFACES}?type=toaster") == (400, "Invalid HMS type.")
