"""NodeMaps."""

from __future__ import annotations

from services.smd.hsm_client import COMPONENTS, Hsm

BASE = "/Defaults/NodeMaps"
N0, N1 = "x0c0s0b0n0", "x0c0s0b0n1"


def test_maps_are_made_changed_and_deleted(hsm: Hsm) -> None:
    reply = hsm.do("POST", BASE, {"NodeMaps": [{"ID": N0.upper(), "NID": 1, "Role": "compute"}, {"ID": N1, "NID": 2}]})
    assert reply.json() == {"code": 0, "message": "Created or modified 2 entries"}
    assert hsm.do("PUT", f"{BASE}/{N0}", {"NID": 3, "NodeInfo": {"a": 1}}).json() == {
        "ID": N0,
        "NID": 3,
        "NodeInfo": {"a": 1},
    }
    assert hsm.read(BASE) == {"NodeMaps": [hsm.read(f"{BASE}/{N0}"), {"ID": N1, "NID": 2}]}
    hsm.do("DELETE", f"{BASE}/{N0}")
    assert hsm.refusal("GET", f"{BASE}/{N0}") == (404, "no such xname.")
    assert hsm.do("DELETE", BASE).json()["message"] == "deleted 1 entries"
    assert hsm.refusal("DELETE", BASE) == (404, "no entries to delete")


def test_a_nid_belongs_to_one_node_and_a_conflict_changes_nothing(hsm: Hsm) -> None:
    hsm.do("POST", BASE, {"ID": N0, "NID": 1})
    both = {"NodeMaps": [{"ID": N1, "NID": 2}, {"ID": "x0c0s1b0n0", "NID": 1}]}
    conflict = "operation would conflict with an existing xname ID that has the same NID."
    assert hsm.refusal("POST", BASE, both) == (409, conflict)
    assert hsm.read(BASE) == {"NodeMaps": [{"ID": N0, "NID": 1}]}
    hsm.do("POST", BASE, {"NodeMaps": [{"ID": N0, "NID": 3}, {"ID": N1, "NID": 1}]})


def test_only_nodes_with_a_nid(hsm: Hsm) -> None:
    refused = hsm.refusal("PUT", f"{BASE}/x0", {"NID": 1})
    assert refused == (400, "couldn't validate endpoint data: xname ID 'x0' is invalid or not a node")
    assert hsm.refusal("POST", BASE, {"ID": N0}) == (400, "couldn't validate mapping data: NID '0' is out of range")


def test_a_new_node_takes_the_fields_of_its_map(hsm: Hsm) -> None:
    hsm.do("POST", BASE, {"ID": N0, "NID": 77, "Role": "Application", "SubRole": "UAN"})
    hsm.make(N0, N1)
    node = hsm.read(f"{COMPONENTS}/{N0}")
    assert (node["NID"], node["Role"], node["SubRole"]) == (77, "Application", "UAN")
    assert hsm.read(f"{COMPONENTS}/{N1}")["NID"] == 16385
