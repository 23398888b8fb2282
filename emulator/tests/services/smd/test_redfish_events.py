"""HSM's records of the machine at the start, and its reaction to events of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from csm_emulator.machine.faults.faults import Fault
from services.smd.hsm_client import COMPONENTS, Hsm

UP, DOWN = "x1000c0s0b0n0", "x1000c0s0b1n0"
SLOT, BMC, CARD = "x1000c0s0", "x1000c0s0b0", "x1000c0s0e0"
LONG = 400.0


def order(hsm: Hsm, xname: str, action: str, seconds: float = 10.0) -> None:
    hsm.site.machine.power.reset(xname, action, "test")
    hsm.site.step(seconds)


def break_(hsm: Hsm, kind: str, targets: str) -> None:
    hsm.site.set_fault(Fault(hsm.site.faults.new_id(), kind, targets))


def test_the_inventory_at_the_start_is_what_discovery_found(tiny_hsm: Hsm) -> None:
    types = {component["Type"] for component in tiny_hsm.read(COMPONENTS)["Components"]}
    assert {"Node", "NodeBMC", "NodeEnclosure", "ComputeModule", "Chassis", "ChassisBMC", "RouterBMC"} <= types
    assert not types & {"Cabinet", "CDU", "MgmtSwitch"}
    assert tiny_hsm.read(f"{COMPONENTS}/{UP}") == {
        "ID": UP,
        "Type": "Node",
        "State": "Ready",
        "Flag": "OK",
        "Enabled": True,
        "Role": "Compute",
        "NID": 1000,
        "NetType": "Sling",
        "Arch": "X86",
        "Class": "Mountain",
    }
    assert tiny_hsm.state(DOWN) == "Off/OK"
    assert tiny_hsm.state(BMC) == "Ready/OK"
    assert tiny_hsm.read(f"{COMPONENTS}/x3000c0s1b0n0")["SubRole"] == "Master"


def test_a_node_that_is_created_again_takes_its_fields_from_sls(tiny_hsm: Hsm) -> None:
    tiny_hsm.do("DELETE", f"{COMPONENTS}/x3000c0s1b0n0")
    tiny_hsm.make("x3000c0s1b0n0", state="On")
    node = tiny_hsm.read(f"{COMPONENTS}/x3000c0s1b0n0")
    assert [node[name] for name in ("Role", "SubRole", "NID", "Class")] == ["Management", "Master", 100001, "River"]


def test_owners_have_their_groups(tiny_hsm: Hsm) -> None:
    group = tiny_hsm.read("/groups/blue")
    assert (group["description"], group["members"]["ids"][0]) == ("the first tenant", UP)
    assert tiny_hsm.xnames("group=blue") == sorted(group["members"]["ids"])


def test_a_node_that_is_switched_is_on_and_off(tiny_hsm: Hsm) -> None:
    order(tiny_hsm, DOWN, "On")
    assert tiny_hsm.state(DOWN) == "On/OK"
    order(tiny_hsm, UP, "ForceOff")
    assert tiny_hsm.state(UP) == "Off/OK"


def test_a_node_that_hsm_does_not_follow_stays_as_it_was(tiny_hsm: Hsm) -> None:
    break_(tiny_hsm, "stale-inventory", DOWN)
    order(tiny_hsm, DOWN, "On")
    assert tiny_hsm.state(DOWN) == "Off/OK"


def test_an_unreachable_controller_sends_no_events(tiny_hsm: Hsm) -> None:
    tiny_hsm.site.machine.power.reset(UP, "ForceOff", "test")
    break_(tiny_hsm, "bmc-unreachable", BMC)
    tiny_hsm.site.step(10)
    assert tiny_hsm.site.machine.power.state(UP) == "off"
    assert tiny_hsm.state(UP).startswith("Ready/")


def test_the_power_of_a_node_without_heartbeat_is_checked(tiny_hsm: Hsm) -> None:
    tiny_hsm.site.machine.power.reset(UP, "ForceOff", "test")
    break_(tiny_hsm, "bmc-unreachable", BMC)
    tiny_hsm.site.step(LONG)
    assert tiny_hsm.state(UP).startswith("Standby/")
    tiny_hsm.site.faults.clear(next(iter(tiny_hsm.site.faults)).id)
    tiny_hsm.site.step(10)
    assert tiny_hsm.state(UP) == "Off/OK"


def test_nodes_on_standby_share_one_timer(hsm: Hsm) -> None:
    nodes = ["x0c0s0b0n0", "x0c0s0b0n1"]
    hsm.make(*nodes, state="Ready")
    for _ in range(3):
        for state in ("Standby", "Ready"):
            hsm.do("PATCH", f"{COMPONENTS}/BulkStateData", {"ComponentIDs": nodes, "State": state})
            hsm.site.step(7)
    hsm.do("PATCH", f"{COMPONENTS}/BulkStateData", {"ComponentIDs": nodes, "State": "Standby"})
    hsm.site.step(100)
    waiting = [
        row for row in hsm.site.tables.take_changes() if row[0] == "scheduler" and "smd.polled" in (row[2] or "")
    ]
    assert len(waiting) == 1
    assert hsm.state(nodes[0]) == "Standby/OK"


def test_a_slot_takes_its_cards_along_and_brings_them_back_without_the_nodes(tiny_hsm: Hsm) -> None:
    order(tiny_hsm, SLOT, "Off")
    assert {tiny_hsm.state(xname) for xname in (SLOT, BMC, CARD, UP, DOWN)} == {"Off/OK"}
    order(tiny_hsm, SLOT, "On")
    assert {xname: tiny_hsm.state(xname) for xname in (SLOT, BMC, CARD, UP)} == {
        SLOT: "On/OK",
        BMC: "On/OK",
        CARD: "On/OK",
        UP: "Off/OK",
    }
    tiny_hsm.site.step(LONG)
    assert tiny_hsm.state(BMC) == "Ready/OK"
    assert tiny_hsm.state(UP) == "Off/OK"


def test_another_slot_is_left_alone(tiny_hsm: Hsm) -> None:
    states_before = {xname: tiny_hsm.state(xname) for xname in tiny_hsm.xnames() if xname.startswith("x1000c0s1")}
    order(tiny_hsm, SLOT, "Off")
    assert {xname: tiny_hsm.state(xname) for xname in states_before} == states_before


@pytest.fixture
def changes(tiny_hsm: Hsm, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
    """The changes that HSM sends to its subscribers."""
    notices: list[tuple[Sequence[str], Mapping[str, Any]]] = []
    monkeypatch.setattr(
        "csm_emulator.services.smd.database.Hsm.notify",
        lambda _, xnames, change: notices.append((list(xnames), change)) if xnames else None,
    )
    return notices


def test_changes_are_sent_to_subscribers(tiny_hsm: Hsm, changes: list[tuple[Sequence[str], Mapping[str, Any]]]) -> None:
    order(tiny_hsm, DOWN, "On")
    assert changes[0] == ([DOWN], {"State": "On", "Flag": "OK"})
    changes.clear()
    bulk = f"{COMPONENTS}/BulkEnabled"
    tiny_hsm.do("PATCH", bulk, {"ComponentIDs": [UP, DOWN], "Enabled": True})
    assert changes == []
    tiny_hsm.do("PATCH", f"{COMPONENTS}/{UP}/Enabled", {"Enabled": True})
    assert changes == [([UP], {"Enabled": True})]
    tiny_hsm.do("PATCH", f"{COMPONENTS}/{UP}/FlagOnly", {"Flag": "Alert"})
    assert len(changes) == 1
