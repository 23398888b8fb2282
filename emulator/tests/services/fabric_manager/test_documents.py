"""Documents: their envelope, versions, lists, and refused requests."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Open
from machine.fabric.network import ONE, UPLINK
from service_client import GARBAGE, MOMENT
from services.fabric_manager.manager import POLICIES, Manager

COLLECTIONS = (
    "/fabric/vlans",
    POLICIES,
    "/fabric/vni/partitions",
    "/fabric/vni/blocks",
    "/fabric/collectives/jobs",
)


def test_switches_and_ports_are_those_of_the_machine(manager: Manager) -> None:
    listing = manager.get("/fabric/switches")
    assert listing["documentLinks"] == ["/fabric/switches/x1000c0r3b0", "/fabric/switches/x1000c0r7b0"]
    assert (listing["documentCount"], listing["totalCount"]) == (2, 2)
    switch = manager.get("/fabric/switches/x1000c0r7b0")
    assert (switch["grpId"], switch["swcNum"]) == (1, 1)
    assert switch["edgePorts"][1] == {"portNum": 1, "conn_port": "x1000c0r7j1p1"}
    assert switch["fabricPortLinks"] == ["/fabric/ports/x1000c0r7j9p0"]
    assert len(switch["edgePortLinks"]) == 4
    nic = manager.site.machine.nics("x1000c0r7b0")[0]
    assert switch["IP"] == nic.address
    assert manager.get("/fabric/ports")["documentCount"] == 10


def test_a_port_has_the_planned_end_of_its_cable(manager: Manager) -> None:
    port = manager.get("/fabric/ports/x1000c0r7j1p1")
    assert port["dst_port"] == "x1000c0s0b1n1h0"
    assert port["hsnIp"] == "10.253.0.13"
    assert (port["portNumber"], port["switchLink"]) == (1, "/fabric/switches/x1000c0r7b0")
    assert port["id"] == "x1000c0r7a0l1"
    assert port["documentKind"] == "com:services:fabric:models:PortState"
    peer = manager.get(f"/fabric/ports/{UPLINK}")
    assert peer["dst_port"] == "x1000c0r7j9p0"
    assert "hsnIp" not in peer
    assert peer["portPolicyLinks"] == [f"{POLICIES}/fabric-policy"]
    manager.break_("wrong-cabling", "x1000c0r7j1p1", **{"with": "x1000c0r3j1p0"})
    assert manager.get("/fabric/ports/x1000c0r7j1p1")["dst_port"] == "x1000c0s0b1n1h0"


def test_addresses_on_the_fabric_are_made_of_group_switch_and_port(manager: Manager) -> None:
    for link in manager.get("/fabric/switches")["documentLinks"]:
        switch = manager.get(link)
        for edge in switch["edgePorts"]:
            nic = manager.get(f"/fabric/ports/{edge['conn_port']}")["dst_port"]
            address = switch["grpId"] << 23 | switch["swcNum"] << 18 | edge["portNum"] << 12
            assert manager.dfa(nic) == address
            mac = manager.fabric.plan.nics[nic].mac
            assert int(mac.replace(":", "")[6:], 16) == address >> 12


@pytest.mark.parametrize("name", ["tiny", "psi", "alps-mini"])
def test_on_the_first_day_switches_do_what_the_documents_say(open_machine: Open, name: str) -> None:
    fabric = open_machine(name).machine.fabric
    assert fabric.plan.ports
    for port in fabric.plan.ports:
        description = fabric.describe(port)
        assert description is not None
        assert description["effective"] == description["intended"], port


def test_an_envelope_has_the_version_and_the_last_action(manager: Manager) -> None:
    vlan = manager.send("POST", "/fabric/vlans", {"id": 12, "name": "blue", "status": "ONLINE"})
    assert (vlan["documentVersion"], vlan["documentUpdateAction"]) == (0, "POST")
    assert vlan["documentSelfLink"] == "/fabric/vlans/12"
    assert vlan["documentUpdateTimeMicros"] == MOMENT * 1_000_000
    assert (vlan["documentEpoch"], vlan["documentExpirationTimeMicros"]) == (0, 0)
    assert manager.get("/fabric/vlans/12") == vlan
    manager.step(5)
    policy = manager.send("POST", POLICIES, {"documentSelfLink": "mine", "state": "OFFLINE"})
    manager.step(5)
    changed = manager.send("PATCH", policy["documentSelfLink"], {"state": "ONLINE", "documentVersion": 77})
    assert (changed["documentVersion"], changed["documentUpdateAction"]) == (1, "PATCH")
    assert changed["documentUpdateTimeMicros"] == policy["documentUpdateTimeMicros"] + 5_000_000
    deletion = manager.send("DELETE", "/fabric/port-policies/mine")
    assert (deletion["documentVersion"], deletion["documentUpdateAction"]) == (2, "DELETE")
    assert vlan["documentOwner"] == deletion["documentOwner"]


def test_every_patch_of_a_port_makes_a_new_version(manager: Manager) -> None:
    link = f"/fabric/ports/{manager.port(ONE)}"
    port_before = manager.get(link)
    for version in (1, 2, 3):
        port = manager.send("PATCH", link, {"portPolicyLinks": port_before["portPolicyLinks"]})
        assert (port["documentVersion"], port["documentUpdateAction"]) == (version, "PATCH")
        assert manager.get(link) == port


def test_lists_name_what_is_there(manager: Manager) -> None:
    manager.make_vlan(7, "blue")
    for path, expected_names in (("/fabric/vlans", ["1", "7"]), (POLICIES, [*policies(), "blue"])):
        listing = manager.get(path)
        assert listing["documentLinks"] == [f"{path}/{name}" for name in expected_names]
        assert listing["documentCount"] == len(expected_names)
    manager.send("DELETE", f"{POLICIES}/blue")
    manager.send("DELETE", "/fabric/vlans/7")
    assert manager.get("/fabric/vlans")["documentLinks"] == ["/fabric/vlans/1"]


def policies() -> list[str]:
    return ["fabric-policy", "edge-policy", "cassini-policy", "qos-ll_be_bd_et-cassini-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/fabric/switches/x1000c0r3",
        "/fabric/switches/x9c0r0b0",
        "/fabric/ports/x1000c0r3j5p0",
        "/fabric/vlans/2",
        "/fabric/vlans/01",
        f"{POLICIES}/missing",
        "/fabric/vni/partitions/missing",
        "/fabric/vni/blocks/missing",
        "/fabric/vni/block-enforcement-tasks/missing",
        "/fabric/collectives/jobs/missing",
        "/port-sets/other",
        "/nowhere",
    ],
)
def test_what_is_not_there(shared_manager: Manager, path: str) -> None:
    assert shared_manager.refusal("GET", path) == (404, f"Service not found: {path}")


def test_a_method_that_is_not_there(manager: Manager) -> None:
    assert manager.refusal("DELETE", "/fabric/switches/x1000c0r3b0") == (405, "Action not supported: DELETE")
    assert manager.refusal("PUT", "/fabric/vlans") == (405, "Action not supported: PUT")


def test_a_name_is_taken_once(manager: Manager) -> None:
    manager.make_vlan(7, "blue")
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.send("POST", "/fabric/collectives/jobs", {"jobID": "c-1", "mcastLimit": 1})
    bodies: dict[str, Any] = {
        "/fabric/vlans": {"id": 7, "name": "other"},
        POLICIES: {"documentSelfLink": "blue"},
        "/fabric/vni/partitions": {"partitionName": "blue", "vniCount": 5},
        "/fabric/vni/blocks": {"vniBlockName": "blue-block", "partitionName": "blue"},
        "/fabric/collectives/jobs": {"jobID": "c-1"},
    }
    for path, body in bodies.items():
        documents_before = manager.get(path)
        status, message = manager.refusal("POST", path, body)
        assert status == 409
        assert message.startswith(f"Service already started: {path}/")
        assert manager.get(path) == documents_before


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_refused(manager: Manager, body: bytes) -> None:
    """Every kind but policies, and changes, whose bodies have no known field."""
    manager.make_block("blue", ["2000-2099"], ONE)
    strange = b"name" in body
    for path in COLLECTIONS:
        assert manager.ask("POST", path, body).status == (200 if strange and path == POLICIES else 400)
    for path in (f"/fabric/ports/{manager.port(ONE)}", f"{POLICIES}/edge-policy", "/fabric/vni/blocks/blue-block"):
        document_before = manager.get(path)
        assert manager.ask("PATCH", path, body).status == (200 if strange else 400)
        assert {**manager.get(path), **_wrapping(document_before)} == document_before


def _wrapping(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name.startswith("document")}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/fabric/vlans", {"id": "7"}),
        ("/fabric/vlans", {"id": 7.5}),
        ("/fabric/vlans", {"id": True}),
        ("/fabric/vlans", {"id": 0}),
        ("/fabric/vlans", {"id": 4095}),
        ("/fabric/vlans", {"id": -1}),
        ("/fabric/vlans", {"id": 10**300}),
        ("/fabric/vlans", {"name": "x"}),
        ("/fabric/vlans", {"id": 7, "name": 5}),
        ("/fabric/vlans", {"id": 7, "status": "OFFLINE"}),
        (POLICIES, {"state": "UP"}),
        (POLICIES, {"state": ["ONLINE"]}),
        (POLICIES, {"documentSelfLink": "a/b"}),
        (POLICIES, {"documentSelfLink": ".."}),
        (POLICIES, {"documentSelfLink": "käse"}),
        (POLICIES, {"documentSelfLink": "x" * 256}),
        (POLICIES, {"documentSelfLink": 5}),
        (POLICIES, {"documentSelfLink": "a", "allowedVlans": "/fabric/vlans/1"}),
        (POLICIES, {"documentSelfLink": "a", "allowedVlans": [1]}),
        (POLICIES, {"documentSelfLink": "a", "allowedVlans": ["/fabric/vlans/2"]}),
        (POLICIES, {"documentSelfLink": "a", "nativeVlanId": "/fabric/vlans/2"}),
        (POLICIES, {"documentSelfLink": "a", "nativeVlanId": "1"}),
        (POLICIES, {"documentSelfLink": "a", "nativeVlanId": "/fabric/vlans/1/"}),
        (POLICIES, {"documentSelfLink": "a", "flowControl": {"rx": "yes"}}),
        (POLICIES, {"documentSelfLink": "a", "autoRetry": []}),
        ("/fabric/collectives/jobs", {}),
        ("/fabric/collectives/jobs", {"jobID": ""}),
        ("/fabric/collectives/jobs", {"jobID": "a", "mcastLimit": -1}),
    ],
)
def test_wrong_fields_are_refused_and_make_nothing(shared_manager: Manager, path: str, body: Any) -> None:
    documents_before = shared_manager.get(path)
    status, message = shared_manager.refusal("POST", path, body)
    assert status == 400
    assert message
    assert shared_manager.get(path) == documents_before


def test_what_is_written_is_read_back(manager: Manager) -> None:
    policy = {
        "documentSelfLink": f"{POLICIES}/all",
        "state": "OFFLINE",
        "speed": "BS_100G",
        "autoneg": False,
        "precode": "OFF",
        "loopback": "LOCAL",
        "mac": "02:00:00:00:00:01",
        "flowControl": {"rx": False, "tx": True},
        "autoRetry": {"enabled": True, "always": True, "num_retries": 9, "duration_sec": 60},
        "headShellReset": {"enabled": False, "always": False, "num_retries": 1, "duration_sec": 2},
        "allowedVlans": ["/fabric/vlans/1"],
        "nativeVlanId": "/fabric/vlans/1",
        "isUntaggedAllowed": False,
    }
    manager.send("POST", POLICIES, policy)
    assert manager.get(f"{POLICIES}/all").items() >= policy.items()


def test_a_policy_without_a_name_gets_one(manager: Manager) -> None:
    names = [manager.send("POST", POLICIES, {"state": "OFFLINE"})["documentSelfLink"] for _ in range(2)]
    assert names[0] != names[1]
    assert manager.get(names[1])["state"] == "OFFLINE"


def test_jobs_get_a_token_and_give_steps_back(manager: Manager) -> None:
    job = manager.send("POST", "/fabric/collectives/jobs", {"jobID": "alps-17", "mcastLimit": 8})
    assert job["documentSelfLink"] == "/fabric/collectives/jobs/alps-17"
    assert len(job["sessionToken"]) == 36
    link = job["documentSelfLink"]
    assert manager.send("PATCH", link, {"jobSteps": {"0": {"mcasts": 1}, "1": {}}})["jobSteps"] == {
        "0": {"mcasts": 1},
        "1": {},
    }
    assert manager.send("PATCH", link, {"jobSteps": {"0": None, "9": None}})["jobSteps"] == {"1": {}}
    assert manager.refusal("PATCH", link, {"jobSteps": []})[0] == 400
    assert manager.get("/fabric/collectives/jobs")["documentLinks"] == [link]
    manager.send("DELETE", link)
    assert manager.refusal("DELETE", link)[0] == 404


def test_port_sets_tell_what_the_switches_do(manager: Manager) -> None:
    edge = manager.get("/port-sets/edge-ports")["ports"]
    assert len(edge) == 8
    assert manager.get("/port-sets/fabric-ports")["ports"] == [UPLINK, "x1000c0r7j9p0"]
    manager.break_("port-drift", edge[0], online=False)
    manager.site.machine.power.reset("x1000c0r7", "Off", "test")
    manager.step(10)
    ports = manager.get("/port-sets/edge-ports/status")["ports"]
    off = {port["xname"] for port in ports if not port["status"]["enable"]}
    assert off == {edge[0], *(port for port in edge if port.startswith("x1000c0r7"))}
    assert manager.refusal("GET", "/port-sets/other/status")[0] == 404
