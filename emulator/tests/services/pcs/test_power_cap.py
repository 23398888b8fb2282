"""Power caps: tasks that read and write the limits of controllers."""

from __future__ import annotations

from typing import Any

import pytest

from power_client import BMC, DOWN, UP, Pcs

CONTROL = "Node Power Limit"
MANAGEMENT = "x3000c0s1b0n0"
UNKNOWN = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


def run_task(pcs: Pcs, method: str, path: str, body: Any, seconds: float = 1.0) -> dict[str, Any]:
    reply = pcs.ask(method, path, body)
    assert reply.status == 200, reply.body
    identity = reply.json()["taskID"]
    assert dict(reply.headers)["Location"] == f"../power-cap/{identity}"
    pcs.site.step(seconds)
    return dict(pcs.ask("GET", f"/power-cap/{identity}").json())


def snapshot(pcs: Pcs, *names: str, seconds: float = 1.0) -> dict[str, Any]:
    return run_task(pcs, "POST", "/power-cap/snapshot", {"xnames": list(names)}, seconds)


def patch(pcs: Pcs, xname: str, **controls: int) -> dict[str, Any]:
    limits = [{"name": name.replace("_", " "), "value": value} for name, value in controls.items()]
    return run_task(pcs, "PATCH", "/power-cap", {"components": [{"xname": xname, "controls": limits}]})


def test_a_snapshot(pcs: Pcs) -> None:
    task = snapshot(pcs, UP)
    assert (task["type"], task["taskStatus"]) == ("snapshot", "completed")
    assert task["taskCounts"]["succeeded"] == 1
    assert task["components"] == [
        {
            "xname": UP,
            "limits": {"hostLimitMax": 925, "hostLimitMin": 350},
            "powerCapLimits": [{"name": CONTROL, "currentValue": 0, "maximumValue": 925, "minimumValue": 350}],
        }
    ]


def test_a_cap_is_read_back(pcs: Pcs) -> None:
    task = patch(pcs, UP, Node_Power_Limit=600)
    assert (task["type"], task["taskStatus"]) == ("patch", "completed")
    limits = snapshot(pcs, UP)["components"][0]["powerCapLimits"]
    assert limits[0]["currentValue"] == 600
    patch(pcs, UP, Node_Power_Limit=0)
    assert snapshot(pcs, UP)["components"][0]["powerCapLimits"][0]["currentValue"] == 0


@pytest.mark.parametrize(
    ("watts", "error"),
    [
        (349, f"Control ({CONTROL}) value (349) is less than minimum (350)"),
        (926, f"Control ({CONTROL}) value (926) is more than maximum (925)"),
    ],
)
def test_a_cap_out_of_range(pcs: Pcs, watts: int, error: str) -> None:
    task = patch(pcs, UP, Node_Power_Limit=watts)
    assert task["components"] == [{"xname": UP, "error": error}]
    assert task["taskCounts"]["failed"] == 1
    assert pcs.site.machine.caps.read(UP) == 0


def test_controls_that_are_not_there(pcs: Pcs) -> None:
    task = patch(pcs, UP, Warp=600, Node_Power_Limit=500)
    assert task["taskCounts"] == {
        "total": 2,
        "new": 0,
        "in-progress": 0,
        "failed": 1,
        "succeeded": 1,
        "un-supported": 0,
    }
    assert task["components"][0]["error"] == "Skipping undefined control 'Warp'"
    assert pcs.site.machine.caps.read(UP) == 500


def test_what_cannot_be_capped(pcs: Pcs) -> None:
    task = snapshot(pcs, BMC, MANAGEMENT, "nonsense", "x1000c7s7b0n0")
    assert {component["xname"]: component["error"] for component in task["components"]} == {
        BMC: "Type, NodeBMC unsupported for power capping",
        MANAGEMENT: "Power capping Management nodes is not supported",
        "nonsense": "Invalid xname",
        "x1000c7s7b0n0": "Xname not found in HSM",
    }
    assert (task["taskCounts"]["un-supported"], task["taskCounts"]["failed"]) == (2, 2)


def test_a_silent_controller_holds_the_task_up(pcs: Pcs) -> None:
    pcs.break_("bmc-unreachable", BMC)
    task = snapshot(pcs, UP, DOWN)
    assert (task["taskStatus"], task["taskCounts"]["in-progress"]) == ("in-progress", 1)
    pcs.site.step(40.0)
    task = pcs.ask("GET", f"/power-cap/{task['taskID']}").json()
    assert (task["taskStatus"], task["taskCounts"]["failed"], task["taskCounts"]["succeeded"]) == ("completed", 1, 1)


def test_the_list_and_its_end(pcs: Pcs) -> None:
    task = snapshot(pcs, UP)
    (summary,) = pcs.ask("GET", "/power-cap").json()["tasks"]
    assert summary == {key: value for key, value in task.items() if key != "components"}
    pcs.site.step(86400.0)
    assert pcs.ask("GET", "/power-cap").json() == {"tasks": []}


def test_what_is_refused(pcs: Pcs) -> None:
    empty = pcs.ask("POST", "/power-cap/snapshot", {"xnames": []})
    assert (empty.status, empty.json()["detail"]) == (400, "Xname list is empty. A list of xnames is required")
    wrong = {"components": [{"xname": UP, "controls": [{"name": "", "value": 5}]}]}
    refused = pcs.ask("PATCH", "/power-cap", wrong)
    assert (refused.status, refused.json()["detail"]) == (
        400,
        f"Invalid control parameters for xnames detected {UP} ",
    )
    missing = pcs.ask("GET", f"/power-cap/{UNKNOWN}")
    assert (missing.status, missing.json()["detail"]) == (404, f"Key /powercaptask/{UNKNOWN} does not exist")
