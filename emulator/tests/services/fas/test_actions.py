"""Actions from their start to their end, and the firmware of the devices afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from csm_emulator.site import Site
from service_client import BMC, SERVER, Service, open_site, reopen

OLD, NEW = "nc.1.9.12-3", "nc.1.9.13-3"
OLD_BIOS, NEW_BIOS = "ex425.bios-1.7.8", "ex425.bios-1.7.9"


@pytest.fixture
def fas(tiny: Site) -> Service:
    return Service(tiny, "fas", "")


def act(fas: Service, target: str, bmc: str = BMC, **command: Any) -> str:
    command = {"overrideDryrun": True, "timeLimit": 3600, **command}
    filters = {"stateComponentFilter": {"xnames": [bmc]}, "targetFilter": {"targets": [target]}}
    reply = fas.ask("POST", "/actions", {**filters, "command": command})
    assert reply.status == 202, reply.body
    return str(reply.json()["actionID"])


def state(fas: Service, action: str) -> str:
    return str(fas.get(f"/actions/{action}/status")["state"])


def operation(fas: Service, action: str) -> dict[str, Any]:
    details = fas.get(f"/actions/{action}/operations")["operationDetails"]
    operations = [operation_key for group in details.values() for operation_key in group["operationKeys"]]
    assert len(operations) == 1
    one: dict[str, Any] = fas.get(f"/operations/{operations[0]['operationID']}")
    assert one["state"] == next(name for name, group in details.items() if group["operationKeys"])
    return one


def until_over(fas: Service, action: str, seconds: int = 4000) -> dict[str, Any]:
    for _ in range(seconds // 10):
        if state(fas, action) in ("completed", "aborted"):
            break
        fas.step(10.0)
    return operation(fas, action)


def version(fas: Service, target: str, bmc: str = BMC) -> str:
    name = f"s{fas.site.clock.now()}"
    filters = {"stateComponentFilter": {"xnames": [bmc]}}
    assert fas.ask("POST", "/snapshots", {"name": name, **filters}).status == 201
    fas.step(5.0)
    (device,) = fas.get(f"/snapshots/{name}")["devices"]
    return str(
        next(
            device_target["firmwareVersion"]
            for device_target in device["targets"]
            if target in (device_target["name"], device_target["targetName"])
        )
    )


def test_a_dry_run_reports_the_update_and_changes_nothing(fas: Service) -> None:
    action = act(fas, "BMC", overrideDryrun=False)
    details = until_over(fas, action)
    assert (details["state"], details["stateHelper"]) == ("succeeded", f"dry run completed: Updated Image: {NEW}")
    assert (details["fromFirmwareVersion"], details["toFirmwareVersion"]) == (OLD, NEW)
    assert version(fas, "BMC") == OLD


def test_a_controllers_new_firmware_is_there_after_its_restart(fas: Service) -> None:
    action = act(fas, "BMC")
    assert state(fas, action) == "new"
    statuses: list[list[str]] = []
    for _ in range(600):
        fas.step(1.0)
        states = [state(fas, action)]
        if states != ["new"]:
            states.append(operation(fas, action)["state"])
        if not statuses or statuses[-1] != states:
            statuses.append(states)
    assert [status for status in statuses if status != ["running", "succeeded"]] == [
        ["new"],
        ["configured", "configured"],
        ["running", "configured"],
        ["running", "inProgress"],
        ["running", "needsVerified"],
        ["running", "verifying"],
        ["completed", "succeeded"],
    ]
    details = operation(fas, action)
    assert details["stateHelper"] == f"Update Successful to version: {NEW}"
    assert details["endTime"] > details["startTime"]
    assert version(fas, "BMC") == NEW
    assert version(fas, "BMC", "x1000c0s0b1") == OLD
    happened = [entry["what"] for entry in fas.site.log.after(0, 10_000) if entry["target"] == BMC]
    assert happened == ["controller-restart", "controller-down", "controller-up", "firmware"]


def test_a_bios_waits_for_the_node_to_start(fas: Service) -> None:
    node = f"{BMC}n0"
    assert fas.site.machine.power.state(node) == "on"
    action = act(fas, "Node0.BIOS")
    fas.step(600.0)
    assert operation(fas, action)["state"] == "verifying"
    assert version(fas, "Node0.BIOS") == OLD_BIOS
    fas.site.machine.power.reset(f"{BMC}n1", "ForceRestart", "test")
    fas.site.machine.power.reset(BMC, "ForceRestart", "test")
    fas.step(120.0)
    assert version(fas, "Node0.BIOS") == OLD_BIOS
    fas.site.machine.power.reset(node, "ForceRestart", "test")
    fas.step(60.0)
    assert version(fas, "Node0.BIOS") == NEW_BIOS
    assert until_over(fas, action)["state"] == "succeeded"


def test_a_bios_of_a_node_that_is_off_needs_no_start(fas: Service) -> None:
    node = next(
        part.xname
        for part in fas.site.machine.parts("Node")
        if fas.site.machine.power.state(part.xname) == "off" and part.xname.endswith("n1")
    )
    bmc = node[:-2]
    assert until_over(fas, act(fas, "Node1.BIOS", bmc))["state"] == "succeeded"
    assert version(fas, "Node1.BIOS", bmc) == NEW_BIOS


def test_hpe_tells_of_its_task_and_is_done_before_the_node_starts(fas: Service) -> None:
    version_before = version(fas, "System ROM", SERVER)
    details = until_over(fas, act(fas, "System ROM", SERVER))
    assert details["state"] == "succeeded"
    assert details["stateHelper"] == "Firmware Task Returned Completed with Status OK -- Reboot of node may be required"
    assert version(fas, "System ROM", SERVER) == version_before


def test_time_runs_out(fas: Service) -> None:
    details = until_over(fas, act(fas, "Node0.BIOS", timeLimit=300))
    assert (details["state"], details["stateHelper"]) == ("failed", "time expired; could not verify")


def test_a_device_that_does_not_answer_has_no_operation(fas: Service) -> None:
    fas.break_("bmc-unreachable", BMC)
    action = act(fas, "BMC")
    fas.step(10.0)
    record = fas.get(f"/actions/{action}")
    assert record["state"] == "completed"
    assert record["errors"] == [f"Error retrieving data from {BMC}", "No Viable Targets"]


def test_a_device_that_stops_answering_fails(fas: Service) -> None:
    action = act(fas, "BMC")
    fas.step(12.0)
    fas.break_("bmc-unreachable", BMC)
    details = until_over(fas, action)
    assert details["state"] == "failed"
    assert details["stateHelper"] == "failed to update target - status code: 500 - See operation for any error message"
    assert details["error"].startswith(f'Post "https://{BMC}/redfish/v1/UpdateService')


def test_unknown_targets_give_an_action_without_operations(fas: Service) -> None:
    action = act(fas, "BMC", "x9c0s0b0")
    fas.step(10.0)
    assert fas.get(f"/actions/{action}")["errors"] == [
        "No Valid XNames Found in HSM State Components",
        "No Viable Targets",
    ]


def test_nothing_to_do_and_nothing_to_do_it_with(fas: Service) -> None:
    assert until_over(fas, act(fas, "FPGA0"))["stateHelper"] == "Firmware at requested version"
    details = until_over(fas, act(fas, "BMC", tag="recovery"))
    assert (details["state"], details["stateHelper"]) == ("noSolution", "No Image available")
    details = until_over(fas, act(fas, "BMC", version="earliest"))
    assert details["state"] == "noOperation"


def test_without_a_way_back_it_is_not_done(fas: Service) -> None:
    for image in fas.get("/images")["images"]:
        if image["firmwareVersion"] == OLD and image["target"] == "BMC":
            fas.ask("DELETE", f"/images/{image['imageID']}")
    details = until_over(fas, act(fas, "BMC"))
    assert details["state"] == "noSolution"
    assert details["stateHelper"].startswith("cannot perform the update as the override was not enabled")
    assert until_over(fas, act(fas, "BMC", restoreNotPossibleOverride=True))["state"] == "succeeded"


def test_siblings_wait_and_a_second_action_too(fas: Service) -> None:
    filters = {"stateComponentFilter": {"xnames": [BMC]}}
    first = fas.ask("POST", "/actions", filters).json()["actionID"]
    second = act(fas, "BMC", "x1000c0s0b1", overrideDryrun=False)
    fas.step(5.0)
    summary = fas.get(f"/actions/{first}")["operationSummary"]
    assert {operation_key["stateHelper"] for operation_key in summary["blocked"]["operationKeys"]} == {
        "blocked by sibling"
    }
    fas.step(10.0)
    waiting = fas.get(f"/actions/{second}/status")
    assert (waiting["state"], waiting["blockedBy"]) == ("blocked", [first])
    assert fas.refusal("DELETE", f"/actions/{first}") == (400, "cannot delete a currently running action")
    fas.step(300.0)
    assert (state(fas, first), state(fas, second)) == ("completed", "completed")
    assert fas.ask("DELETE", f"/actions/{first}").status == 204
    assert fas.refusal("GET", f"/actions/{first}") == (404, f"Key /actions/{first} does not exist")


def test_an_action_can_be_aborted(fas: Service) -> None:
    action = act(fas, "BMC")
    fas.step(12.0)
    assert fas.ask("DELETE", f"/actions/{action}/instance").status == 202
    assert state(fas, action) == "abortSignaled"
    fas.step(5.0)
    assert state(fas, action) == "aborted"
    assert operation(fas, action)["stateHelper"] == "abort received from quit in doLaunch"
    assert fas.ask("DELETE", f"/actions/{action}/instance").status == 200
    fas.step(3600.0)
    assert operation(fas, action)["state"] == "aborted"
    assert version(fas, "BMC") == OLD


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"stateComponentFilter": {"xnames": ["a", BMC, BMC]}}, f"invalid/duplicate xnames: [a {BMC}]"),
        ({"command": {"version": "newest"}}, "version must be 'earliest' or 'latest'; or you must supply an ImageID"),
        ({"imageFilter": {"imageID": "x"}}, "invalid UUID length: 1"),
        (
            {"stateComponentFilter": {"groups": ["a", "b"], "partitions": ["p1", "p2"]}},
            "illegal, may not have both paritions and groups count > 1",
        ),
    ],
)
def test_what_cannot_be_asked_for(fas: Service, body: Any, detail: str) -> None:
    assert fas.refusal("POST", "/actions", body) == (400, detail)
    assert fas.get("/actions") == {"actions": []}


def test_a_named_image_goes_where_it_fits(fas: Service) -> None:
    image = next(
        one for one in fas.get("/images")["images"] if one["firmwareVersion"] == NEW and one["target"] == "BMC"
    )
    reply = fas.ask("POST", "/actions", {"imageFilter": {"imageID": image["imageID"]}})
    fas.step(5.0)
    record = fas.get(f"/actions/{reply.json()['actionID']}")
    assert record["command"]["version"] == "explicit"
    names = [
        operation_key["xname"]
        for group in record["operationSummary"].values()
        for operation_key in group["operationKeys"]
    ]
    assert sorted(names) == ["x1000c0s0b0", "x1000c0s0b1", "x1000c0s1b0", "x1000c0s1b1"]


def test_a_restart_of_the_emulator_in_the_middle(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    fas = Service(site, "fas", "")
    action = act(fas, "BMC")
    fas.step(100.0)
    assert operation(fas, action)["state"] == "verifying"
    reopened_fas = Service(reopen(site), "fas", "")
    assert operation(reopened_fas, action)["state"] == "verifying"
    assert until_over(reopened_fas, action)["state"] == "succeeded"
    assert version(reopened_fas, "BMC") == NEW
    reopened_fas.site.state_file.close()


def test_a_restart_of_fas_in_the_middle(fas: Service) -> None:
    action = act(fas, "BMC")
    fas.step(100.0)
    fas.break_("service-restart", "fas", seconds=30)
    fas.step(31.0)
    assert operation(fas, action)["stateHelper"] == "preparing to re-attempt verifying"
    assert until_over(fas, action)["state"] == "succeeded"


def test_about_itself(fas: Service) -> None:
    assert fas.ask("GET", "/").body == b"hms-firmware-action"
    assert fas.get("/service/status") == {"serviceStatus": "running"}
    assert fas.get("/service/version") == {"serviceVersion": "1.42.0"}
    assert fas.get("/service/status/details")["hsmStatus"] == "connected"
    fas.break_("service-restart", "smd", seconds=30)
    reply = fas.ask("GET", "/service/status/details")
    assert (reply.status, reply.json()["hsmStatus"]) == (500, "not connected")


def test_a_locked_device_is_waited_for(fas: Service) -> None:
    assert fas.hsm("POST", "/locks/lock", {"ComponentIDs": [BMC]}).ok
    action = act(fas, "BMC")
    fas.step(60.0)
    details = operation(fas, action)
    assert (details["state"], details["stateHelper"]) == ("inProgress", "failed to lock, trying again soon")
    assert fas.hsm("POST", "/locks/unlock", {"ComponentIDs": [BMC]}).ok
    fas.step(30.0)
    (status,) = fas.hsm("POST", "/locks/status", {"ComponentIDs": [BMC]}).json()["Components"]
    assert status["Reserved"] is True
    assert until_over(fas, action)["state"] == "succeeded"
    (status,) = fas.hsm("POST", "/locks/status", {"ComponentIDs": [BMC]}).json()["Components"]
    assert status["Reserved"] is False


def test_a_locked_device_fails_when_time_runs_out(fas: Service) -> None:
    assert fas.hsm("POST", "/locks/lock", {"ComponentIDs": [BMC]}).ok
    details = until_over(fas, act(fas, "BMC", timeLimit=60))
    assert (details["state"], details["stateHelper"]) == ("failed", "time expired; could not complete update")


def test_an_image_with_absurd_times_does_not_stop_time(fas: Service) -> None:
    image = next(
        one for one in fas.get("/images")["images"] if one["firmwareVersion"] == NEW and one["target"] == "BMC"
    )
    for wait in (-(10**9), 10**18):
        absurd = {"pollingSpeedSeconds": -5, "waitTimeBeforeManualRebootSeconds": wait, "needManualReboot": True}
        assert fas.ask("PUT", f"/images/{image['imageID']}", {**image, **absurd}).status == 200
        action = act(fas, "BMC", timeLimit=10**18)
        fas.step(120.0)
        assert operation(fas, action)["expirationTime"].startswith("9999-12-31")
        fas.ask("DELETE", f"/actions/{action}/instance")
        fas.step(10.0)
        assert state(fas, action) in ("aborted", "completed")


def test_a_gigabyte_is_restarted_by_fas(tmp_path: Path) -> None:
    fas = Service(open_site(tmp_path / "state", "alps-mini"), "fas", "")
    image = next(one for one in fas.get("/images")["images"] if one["manufacturer"] == "gigabyte")
    bmc = next(
        part.controller for part in fas.site.machine.parts("Node") if part.model and part.model.name == "Gigabyte"
    )
    assert image["needManualReboot"] is True
    version_before = version(fas, "BMC", bmc)
    action = act(fas, "BMC", bmc)
    fas.step(300.0)
    assert version(fas, "BMC", bmc) == version_before
    fas.step(400.0)
    assert operation(fas, action)["stateHelper"] == "reboot command issued"
    details = until_over(fas, action)
    assert details["stateHelper"].startswith("Firmware Update Information Returned Completed 100%")
    assert version(fas, "BMC", bmc) != version_before
    fas.site.state_file.close()


def test_an_end_is_at_any_moment_not_on_a_beat_of_five_seconds(fas: Service) -> None:
    ends = []
    for _ in range(3):
        action = act(fas, "BMC", overrideDryrun=False)
        operation_end = until_over(fas, action)["endTime"]
        ends += [operation_end, fas.get(f"/actions/{action}")["endTime"]]
    seconds = [float(end.split()[1].split(":")[2]) for end in ends]
    assert all(second % 1 for second in seconds)
    assert len({round(second % 5, 3) for second in seconds}) == len(ends)
