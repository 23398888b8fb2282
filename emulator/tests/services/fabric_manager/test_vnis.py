"""VNI partitions and blocks, and the tasks that enforce them."""

from __future__ import annotations

from typing import Any

import pytest

from machine.fabric.network import FOUR, ONE, RIGHT, THREE, TWO, UPLINK
from services.fabric_manager.manager import ENFORCED, Manager

PARTITIONS, BLOCKS = "/fabric/vni/partitions", "/fabric/vni/blocks"


def passes(manager: Manager, source: str, target: str, vni: int) -> bool:
    return manager.fabric.trace_rdma(source, target, vni).reached


def test_two_tenants_are_kept_apart_once_their_tasks_have_finished(manager: Manager) -> None:
    blue = manager.make_block("blue", ["2000-2099"], ONE, THREE)
    green = manager.make_block("green", ["3000-3099"], TWO, FOUR)
    assert passes(manager, ONE, TWO, 2050), "a document enforces nothing"
    manager.step(ENFORCED)
    assert manager.stage(blue) == manager.stage(green) == "FINISHED"
    assert passes(manager, ONE, THREE, 2050)
    assert passes(manager, TWO, FOUR, 3050)
    assert not any(
        passes(manager, one, two, vni) for one in (ONE, THREE) for two in (TWO, FOUR) for vni in (2050, 3050, 1)
    )


def test_a_task_goes_through_its_stages(manager: Manager) -> None:
    task = manager.make_block("blue", ["2000-2002"], ONE)
    stages = [manager.stage(task)]
    for _ in range(200):
        manager.step(0.05)
        if manager.stage(task) != stages[-1]:
            stages.append(manager.stage(task))
            assert (manager.state(ONE).vnis is None) == (stages[-1] != "FINISHED")
    assert stages == ["CREATED", "STARTED", "FINISHED"]


def test_a_task_has_its_vnis_and_ports(manager: Manager) -> None:
    task = manager.get(manager.make_block("blue", ["2000-2002"], ONE, THREE))
    assert task["vniList"] == task["addVniList"] == [2000, 2001, 2002]
    assert task["edgePortDFAs"] == [manager.dfa(ONE), manager.dfa(THREE)]
    assert task["removeVniList"] == task["removeEdgePortDFAs"] == []
    assert task["switchPortMap"] == {"/fabric/switches/x1000c0r3b0": "0", "/fabric/switches/x1000c0r7b0": "0"}
    manager.step(ENFORCED)
    body = {"vniRanges": ["2001-2002"], "portDFAs": [manager.dfa(THREE)]}
    changed = manager.send("PATCH", f"{BLOCKS}/blue-block", body)
    task = manager.get(changed["enforcementTaskServiceLink"])
    assert (task["addVniList"], task["removeVniList"]) == ([], [2000])
    assert task["removeEdgePortDFAs"] == [manager.dfa(ONE)]
    assert task["removeSwitchPortMap"] == {"/fabric/switches/x1000c0r3b0": "0"}
    assert "order" not in task
    manager.step(ENFORCED)
    assert (manager.state(ONE).vnis, manager.state(THREE).vnis) == (None, ((2001, 2002),))


def test_a_task_is_forgotten_after_a_day(manager: Manager) -> None:
    task = manager.make_block("blue", ["2000-2002"], ONE)
    manager.step(90_000)
    manager.make_block("green", ["3000-3002"], TWO)
    assert manager.refusal("GET", task)[0] == 404


def test_deleting_a_block_lets_its_ports_go(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.step(ENFORCED)
    deletion = manager.send("DELETE", f"{BLOCKS}/blue-block")
    manager.send("DELETE", f"{PARTITIONS}/blue")
    assert manager.state(ONE).vnis == ((2000, 2099),)
    manager.step(ENFORCED)
    assert manager.stage(deletion["enforcementTaskServiceLink"]) == "FINISHED"
    assert manager.state(ONE).vnis is None


def test_tasks_of_one_block_are_done_in_order(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.send("DELETE", f"{BLOCKS}/blue-block")
    body = {"vniBlockName": "blue-block", "partitionName": "blue", "portDFAs": [manager.dfa(ONE)]}
    for last in range(2000, 2010):
        manager.send("POST", BLOCKS, body | {"vniRanges": [f"2000-{last}"]})
        if last < 2009:
            manager.send("DELETE", f"{BLOCKS}/blue-block")
    manager.step(200)
    assert manager.state(ONE).vnis == ((2000, 2009),)


def test_a_port_in_two_blocks_may_use_both(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.make_block("green", ["2100-2199", "3000-3000"], ONE)
    manager.step(ENFORCED)
    assert manager.state(ONE).vnis == ((2000, 2199), (3000, 3000))
    manager.send("DELETE", f"{BLOCKS}/green-block")
    manager.step(ENFORCED)
    assert manager.state(ONE).vnis == ((2000, 2099),)


@pytest.mark.parametrize("name", ["blue", "blue-block", "*"])
def test_enforcement_that_fails_changes_nothing(manager: Manager, name: str) -> None:
    manager.break_("enforcement-failed", name)
    task = manager.make_block("blue", ["2000-2099"], ONE)
    manager.step(ENFORCED)
    assert manager.stage(task) == "FAILED"
    assert manager.state(ONE).vnis is None
    assert manager.get(f"{BLOCKS}/blue-block")["vniRanges"] == ["2000-2099"]


def test_a_change_that_fails_leaves_what_was_enforced(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.step(ENFORCED)
    fault = manager.break_("enforcement-failed", "blue-block")
    manager.send("PATCH", f"{BLOCKS}/blue-block", {"vniRanges": ["2000-2001"]})
    manager.step(ENFORCED)
    assert manager.state(ONE).vnis == ((2000, 2099),)
    description = manager.fabric.describe(manager.port(ONE))
    assert description is not None
    assert description["intended"]["vnis"] == [[2000, 2001]]
    manager.site.clear_fault(fault)
    manager.send("PATCH", f"{BLOCKS}/blue-block", {"vniRanges": ["2000-2001"]})
    manager.step(ENFORCED)
    assert manager.state(ONE).vnis == ((2000, 2001),)


def test_a_switch_that_does_not_answer_fails_the_task(manager: Manager) -> None:
    manager.break_("bmc-unreachable", f"{RIGHT}b0")
    task = manager.make_block("blue", ["2000-2099"], ONE, THREE)
    manager.step(ENFORCED)
    assert manager.stage(task) == "FAILED"
    assert manager.state(ONE).vnis is None


def test_no_effect_finishes_and_enforces_nothing_at_that_port(manager: Manager) -> None:
    manager.break_("fm-no-effect", manager.port(ONE))
    task = manager.make_block("blue", ["2000-2099"], ONE, THREE)
    manager.step(ENFORCED)
    assert manager.stage(task) == "FINISHED"
    assert (manager.state(ONE).vnis, manager.state(THREE).vnis) == (None, ((2000, 2099),))


def test_a_slow_barrier_holds_up_the_task(manager: Manager) -> None:
    manager.break_("slow-barrier", "*")
    task = manager.make_block("blue", ["2000-2099"], ONE)
    manager.step(59)
    assert manager.stage(task) == "STARTED"
    manager.step(10)
    assert manager.stage(task) == "FINISHED"


def test_partitions_get_as_many_vnis_as_they_ask_for(manager: Manager) -> None:
    manager.send("POST", PARTITIONS, {"partitionName": "taken", "vniRanges": ["1100-1199"]})
    ranges = [
        manager.send("POST", PARTITIONS, {"partitionName": name, "vniCount": count})["vniRanges"]
        for name, count in (("a", 50), ("b", 50), ("c", 26), ("d", 1))
    ]
    assert ranges == [["1024-1073"], ["1200-1249"], ["1074-1099"], ["1250-1250"]]
    assert manager.get(f"{PARTITIONS}/taken")["vniCount"] == 100
    status, message = manager.refusal("POST", PARTITIONS, {"partitionName": "big", "vniCount": 65000})
    assert (status, message) == (400, "vniCount: no 65000 VNIs in a row are free")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"partitionName": "p"},
        {"partitionName": "p", "vniCount": 0},
        {"partitionName": "p", "vniCount": -1},
        {"partitionName": "p", "vniCount": 65536},
        {"partitionName": "p", "vniCount": "5"},
        {"partitionName": "", "vniCount": 5},
        {"partitionName": "p/q", "vniCount": 5},
        {"partitionName": "p", "vniRanges": ["0-5"]},
        {"partitionName": "p", "vniRanges": ["5-3"]},
        {"partitionName": "p", "vniRanges": ["5"]},
        {"partitionName": "p", "vniRanges": ["1-65536"]},
        {"partitionName": "p", "vniRanges": ["1-2-3"]},
        {"partitionName": "p", "vniRanges": ["\uff11-\uff12"]},
        {"partitionName": "p", "vniRanges": [[1, 2]]},
        {"partitionName": "p", "vniRanges": "1-2"},
        {"partitionName": "p", "vniRanges": ["2050-2060"]},
        {"partitionName": "p", "vniCount": 5, "edgePortDFAs": [1]},
        {"partitionName": "p", "vniCount": 5, "edgePortDFAs": ["8388608"]},
        {"partitionName": "p", "vniCount": 5, "edgePortDFAs": 8388608},
    ],
)
def test_partitions_that_are_refused(manager: Manager, body: dict[str, Any]) -> None:
    manager.send("POST", PARTITIONS, {"partitionName": "taken", "vniRanges": ["2000-2099"]})
    assert manager.refusal("POST", PARTITIONS, body)[0] == 400
    assert manager.get(PARTITIONS)["documentCount"] == 1


def test_only_edge_ports_have_addresses_for_vnis(manager: Manager) -> None:
    dfa = manager.fabric.plan.ports[UPLINK].dfa
    body = {"partitionName": "p", "vniCount": 5, "edgePortDFAs": [dfa]}
    assert manager.refusal("POST", PARTITIONS, body)[1] == f"edgePortDFAs: no edge port has the address {dfa}"


def test_a_partition_changes_as_the_public_operator_does_it(manager: Manager) -> None:
    """The partition is changed first, then the block; its list of ports has lost one."""
    manager.make_block("blue", ["2000-2099"], ONE, THREE)
    manager.step(ENFORCED)
    document = {
        "partitionName": "blue",
        "vniCount": 100,
        "vniRanges": ["2000-2099"],
        "edgePortDFAs": [manager.dfa(ONE)],
    }
    partition = manager.send("PATCH", f"{PARTITIONS}/blue", document)
    assert partition["edgePortDFAs"] == [manager.dfa(ONE)]
    manager.send("PATCH", f"{BLOCKS}/blue-block", {"vniRanges": ["2000-2099"], "portDFAs": [manager.dfa(ONE)]})
    manager.step(ENFORCED)
    assert (manager.state(ONE).vnis, manager.state(THREE).vnis) == (((2000, 2099),), None)
    assert manager.send("PATCH", f"{PARTITIONS}/blue", {"vniCount": 100})["vniRanges"] == ["2000-2099"]


def test_changes_of_partitions_that_are_refused(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    manager.send("POST", PARTITIONS, {"partitionName": "other", "vniRanges": ["3000-3099"]})
    link = f"{PARTITIONS}/blue"
    document_before = manager.get(link)
    for body in (
        {"partitionName": "red"},
        {"vniRanges": ["2000-2050"]},
        {"vniRanges": ["2000-3000"]},
        {"vniCount": 5},
        {"edgePortDFAs": [7]},
        {"edgePortDFAs": [7], "vniCount": 100},
    ):
        assert manager.refusal("PATCH", link, body)[0] == 400, body
    assert manager.get(link) == document_before
    assert manager.send("PATCH", link, {"vniRanges": ["1999-2100"]})["vniRanges"] == ["1999-2100"]


def test_a_partition_with_blocks_is_not_deleted(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    assert manager.refusal("DELETE", f"{PARTITIONS}/blue")[1] == f"{PARTITIONS}/blue is in use by {BLOCKS}/blue-block"


def test_blocks_stay_within_their_partition(manager: Manager) -> None:
    manager.make_block("blue", ["2000-2099"], ONE)
    for body in (
        {"vniBlockName": "b"},
        {"partitionName": "blue"},
        {"vniBlockName": "b", "partitionName": "missing"},
        {"vniBlockName": "b", "partitionName": "blue", "vniRanges": ["2000-2100"]},
        {"vniBlockName": "b", "partitionName": "blue", "vniRanges": []},
        {"vniBlockName": "b", "partitionName": "blue", "portDFAs": [manager.dfa(TWO)]},
        {"vniBlockName": "b", "partitionName": "blue", "portDFAs": [True]},
    ):
        assert manager.refusal("POST", BLOCKS, body)[0] == 400, body
    assert manager.refusal("PATCH", f"{BLOCKS}/blue-block", {"portDFAs": [manager.dfa(TWO)]})[0] == 400
    assert manager.refusal("PATCH", f"{BLOCKS}/missing", {"portDFAs": []})[0] == 404
    assert manager.get(BLOCKS)["documentCount"] == 1
