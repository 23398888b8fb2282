"""From a document to the switch: the delay, the merging of policies, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.services.fabric_manager.policy_merge import merge
from csm_emulator.services.fabric_manager.switch_sync import PUSH_DELAY, SWEEP_INTERVAL
from machine.fabric.network import FOUR, ONE, RIGHT, THREE, TWO
from service_client import open_site, reopen
from services.fabric_manager.manager import POLICIES, PUSHED, Manager


def test_a_tenant_gets_its_vlan_as_the_public_operator_does_it(manager: Manager) -> None:
    blue, green = manager.make_vlan(2, "blue"), manager.make_vlan(3, "green")
    for nic, policy in ((ONE, blue), (THREE, blue), (TWO, green), (FOUR, green)):
        manager.give(nic, policy)
    assert manager.reaches(ONE, TWO), "documents alone change nothing"
    manager.step(PUSHED)
    assert manager.reaches(ONE, THREE)
    assert manager.reaches(FOUR, TWO)
    assert not any(
        manager.reaches(one, two, tag) for one in (ONE, THREE) for two in (TWO, FOUR) for tag in (None, 2, 3)
    )
    for nic in (ONE, THREE):
        manager.take(nic, blue)
    manager.send("DELETE", blue)
    manager.send("DELETE", "/fabric/vlans/2")
    assert not manager.reaches(ONE, "x1000c0s1b0n0h0")
    manager.step(PUSHED)
    assert manager.reaches(ONE, "x1000c0s1b0n0h0"), "without a policy the port falls into the VLAN of all others"


def test_a_push_comes_with_the_next_round_and_not_before(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    now = manager.site.clock.now()
    manager.step((now // SWEEP_INTERVAL + 1) * SWEEP_INTERVAL - now + 5)
    manager.give(ONE, blue)
    manager.give(THREE, blue)
    manager.step(5.9)
    assert (manager.state(ONE).native, manager.state(THREE).native) == (1, 1)
    manager.step(0.1 + PUSH_DELAY[1])
    assert (manager.state(ONE).native, manager.state(THREE).native) == (2, 2)
    changes = [line for line in manager.site.log.after(0, 1000) if line["what"] == "port-changed"]
    assert len({line["at"] for line in changes}) == 2, "each switch hears of it at its own moment"
    assert all(line["cause"] == "fabric-manager policy" for line in changes)


def test_the_documents_of_the_moment_of_the_push_count(manager: Manager) -> None:
    blue, green = manager.make_vlan(2, "blue"), manager.make_vlan(3, "green")
    manager.give(ONE, blue)
    manager.step(0.1)
    manager.take(ONE, blue)
    manager.give(ONE, green)
    manager.step(PUSHED)
    natives = [line["native"] for line in manager.site.log.after(0, 1000) if line["what"] == "port-changed"]
    assert natives == [3]


def test_who_patches_all_the_time_does_not_hold_up_the_push(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue)
    for _ in range(300):
        manager.step(0.1)
        manager.send("PATCH", f"/fabric/ports/{manager.port(ONE)}", {"portPolicyLinks": manager.links(ONE)})
    assert manager.state(ONE).native == 2


def test_a_changed_policy_goes_to_all_ports_that_have_it(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue)
    manager.give(FOUR, blue)
    manager.step(PUSHED)
    manager.send("PATCH", blue, {"state": "OFFLINE"})
    manager.step(PUSHED)
    assert not manager.state(ONE).online
    assert not manager.state(FOUR).online
    assert manager.state(TWO).online
    manager.send("PATCH", f"{POLICIES}/cassini-policy", {"speed": "BS_100G"})
    manager.step(PUSHED)
    assert {manager.state(nic).speed for nic in (ONE, TWO, THREE, FOUR)} == {"BS_100G"}
    assert manager.fabric.state("x1000c0r3j9p0").speed == "BS_200G"


def test_the_first_policy_with_a_field_wins() -> None:
    first = {"nativeVlanId": "/fabric/vlans/5", "isUntaggedAllowed": False}
    second = {"state": "ONLINE", "nativeVlanId": "/fabric/vlans/6", "allowedVlans": ["/fabric/vlans/7"], "speed": "s"}
    assert merge([first, second], edge=True) == {
        "online": True,
        "native": 5,
        "allowed": {7},
        "untagged": False,
        "speed": "s",
    }
    assert merge([second, first], edge=True)["native"] == 6
    assert merge([{"state": "OFFLINE"}, second], edge=True)["online"] is False


def test_defaults_without_policies() -> None:
    assert merge([], edge=True) == {
        "online": False,
        "native": 1,
        "allowed": {1},
        "untagged": True,
        "speed": "BS_200G",
    }
    assert merge([{"nativeVlanId": "/fabric/vlans/5"}], edge=True)["allowed"] == frozenset({5})
    assert merge([{"allowedVlans": ["/fabric/vlans/5"]}], edge=True)["native"] == 1
    assert merge([], edge=False) | {"online": True} == {
        "online": True,
        "native": None,
        "allowed": None,
        "untagged": False,
        "speed": "BS_200G",
    }


def test_ports_go_offline_as_sat_does_it(manager: Manager) -> None:
    links_before = manager.links(ONE)
    policy = manager.send("POST", POLICIES, {"state": "OFFLINE", "documentSelfLink": "sat-offline-cassini-policy"})
    link = f"/fabric/ports/{manager.port(ONE)}"
    manager.send("PATCH", link, {"portPolicyLinks": [policy["documentSelfLink"]]})
    manager.step(PUSHED)
    assert not manager.reaches(ONE, TWO)
    manager.send("PATCH", link, {"portPolicyLinks": links_before})
    manager.step(PUSHED)
    assert manager.reaches(ONE, TWO)


def test_a_port_without_any_policy_goes_offline(manager: Manager) -> None:
    manager.send("PATCH", f"/fabric/ports/{manager.port(ONE)}", {"portPolicyLinks": []})
    manager.step(PUSHED)
    assert not manager.state(ONE).online


def test_a_policy_may_be_there_twice(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue, blue)
    assert manager.links(ONE)[:2] == [blue, blue]


def test_a_policy_that_is_not_there_is_refused(manager: Manager) -> None:
    links_before = manager.links(ONE)
    for link in (f"{POLICIES}/missing", "cassini-policy", "", f"{POLICIES}/"):
        status, message = manager.refusal(
            "PATCH", f"/fabric/ports/{manager.port(ONE)}", {"portPolicyLinks": [*links_before, link]}
        )
        assert (status, message) == (400, f"portPolicyLinks: no port policy {link}")
    assert manager.links(ONE) == links_before


def test_what_is_in_use_is_not_deleted(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue)
    assert manager.refusal("DELETE", blue) == (400, f"{blue} is in use by /fabric/ports/{manager.port(ONE)}")
    assert manager.refusal("DELETE", f"{POLICIES}/cassini-policy")[0] == 400
    assert manager.refusal("DELETE", f"{POLICIES}/fabric-policy")[0] == 400
    assert manager.refusal("DELETE", "/fabric/vlans/2") == (400, f"/fabric/vlans/2 is in use by {blue}")
    assert manager.refusal("DELETE", "/fabric/vlans/1")[0] == 400
    manager.send("DELETE", f"{POLICIES}/edge-policy")
    for vlan, references in ((5, {"nativeVlanId": "/fabric/vlans/5"}), (6, {"allowedVlans": ["/fabric/vlans/6"]})):
        manager.send("POST", "/fabric/vlans", {"id": vlan})
        manager.send("POST", POLICIES, {"documentSelfLink": f"only-{vlan}", **references})
        assert manager.refusal("DELETE", f"/fabric/vlans/{vlan}")[0] == 400


def test_a_policy_of_the_first_day_can_be_deleted_once_no_port_has_it(manager: Manager) -> None:
    ports = manager.get("/port-sets/edge-ports")["ports"]
    for port in ports:
        assert manager.refusal("DELETE", f"{POLICIES}/cassini-policy")[0] == 400
        manager.send("PATCH", f"/fabric/ports/{port}", {"portPolicyLinks": [f"{POLICIES}/edge-policy"]})
    manager.send("DELETE", f"{POLICIES}/cassini-policy")


def test_no_more_vlans_than_a_switch_holds(manager: Manager) -> None:
    for vlan in range(2, 257):
        manager.send("POST", "/fabric/vlans", {"id": vlan, "name": f"v{vlan}", "status": "ONLINE"})
    assert manager.refusal("POST", "/fabric/vlans", {"id": 4000}) == (400, "No more than 256 VLANs")
    assert manager.refusal("POST", "/fabric/vlans", {"id": 5})[0] == 409
    manager.send("DELETE", "/fabric/vlans/77")
    manager.send("POST", "/fabric/vlans", {"id": 4000})


def test_no_effect_leaves_the_port_as_it_was_and_the_next_patch_mends_it(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    fault = manager.break_("fm-no-effect", manager.port(ONE))
    manager.give(ONE, blue)
    manager.give(THREE, blue)
    manager.step(PUSHED)
    assert manager.links(ONE)[0] == blue
    assert manager.state(ONE).native == 1
    assert manager.state(THREE).native == 2
    manager.site.clear_fault(fault)
    manager.step(3600)
    assert manager.state(ONE).native == 1, "the state of the port is not compared with its policies"
    manager.send("PATCH", f"/fabric/ports/{manager.port(ONE)}", {"portPolicyLinks": manager.links(ONE)})
    manager.step(PUSHED)
    assert manager.state(ONE).native == 2


def test_drift_is_not_in_the_documents_and_stays_until_a_patch(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue)
    manager.step(PUSHED)
    port_before = manager.get(f"/fabric/ports/{manager.port(ONE)}")
    manager.break_("port-drift", manager.port(ONE), native=1, allowed="1,2")
    assert manager.get(f"/fabric/ports/{manager.port(ONE)}") == port_before
    description = manager.fabric.describe(manager.port(ONE))
    assert description is not None
    assert (description["effective"]["native"], description["intended"]["native"]) == (1, 2)
    manager.step(3600)
    assert manager.reaches(ONE, TWO)
    manager.send("PATCH", f"/fabric/ports/{manager.port(ONE)}", {"portPolicyLinks": port_before["portPolicyLinks"]})
    manager.step(PUSHED)
    assert not manager.reaches(ONE, TWO)
    assert manager.state(ONE).native == 2


def test_a_slow_barrier_holds_up_its_port_only(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    manager.break_("slow-barrier", manager.port(ONE), seconds=300)
    manager.give(ONE, blue)
    manager.give(TWO, blue)
    manager.step(PUSHED)
    assert (manager.state(ONE).native, manager.state(TWO).native) == (1, 2)
    manager.step(300)
    assert manager.state(ONE).native == 2


@pytest.mark.parametrize("away", ["power", "controller", "service"])
def test_an_unreachable_switch_gets_its_state_later(manager: Manager, away: str) -> None:
    power = manager.site.machine.power
    blue = manager.make_vlan(2, "blue")
    fault = ""
    if away == "power":
        power.reset(RIGHT, "Off", "test")
        manager.step(10)
    elif away == "controller":
        fault = manager.break_("bmc-unreachable", f"{RIGHT}b0")
    manager.give(THREE, blue)
    manager.give(ONE, blue)
    if away == "service":
        fault = manager.break_("service-restart", "fabric-manager", seconds=200)
    manager.step(100)
    assert manager.state(THREE).native == 1
    assert manager.state(ONE).native == (1 if away == "service" else 2)
    if away == "power":
        power.reset(RIGHT, "On", "test")
        manager.step(90)
    elif away == "controller":
        manager.site.clear_fault(fault)
    else:
        manager.step(110)
    manager.step(PUSHED)
    assert manager.state(THREE).native == 2
    assert manager.state(ONE).native == 2


def test_nothing_is_to_be_done_when_all_was_done(manager: Manager) -> None:
    manager.give(ONE, manager.make_vlan(2, "blue"))
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.step(PUSHED)
    tables = manager.site.tables._tables
    assert not [due for due in tables["scheduler"].values() if due[1].startswith("fabric-manager.")]
    assert not tables["fabric-manager.due"]


def test_a_restart_keeps_documents_and_what_is_under_way(tmp_path: Path) -> None:
    manager = Manager(open_site(tmp_path / "state"))
    blue = manager.make_vlan(2, "blue")
    manager.give(ONE, blue)
    manager.step(PUSHED)
    manager.break_("port-drift", manager.port(TWO), native=2)
    manager.give(THREE, blue)
    task = manager.make_block("blue", ["2000-2099"], ONE, THREE)
    documents = [manager.get(link) for link in (blue, "/fabric/vlans/2", f"/fabric/ports/{manager.port(THREE)}")]
    reopened_manager = Manager(reopen(manager.site))
    assert [
        reopened_manager.get(link) for link in (blue, "/fabric/vlans/2", f"/fabric/ports/{manager.port(THREE)}")
    ] == documents
    assert (
        reopened_manager.state(ONE).native,
        reopened_manager.state(TWO).native,
        reopened_manager.state(THREE).native,
    ) == (2, 2, 1)
    assert reopened_manager.stage(task) == "CREATED"
    reopened_manager.step(PUSHED)
    assert reopened_manager.state(THREE).native == 2
    assert reopened_manager.stage(task) == "FINISHED"
    assert reopened_manager.state(THREE).vnis == ((2000, 2099),)
    assert reopened_manager.reaches(ONE, THREE)
    more = reopened_manager.send("POST", POLICIES, {"state": "OFFLINE"})
    assert more["documentVersion"] == 0
    reopened_manager.site.state_file.close()
