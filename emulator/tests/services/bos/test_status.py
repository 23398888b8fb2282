"""The status operator: the status that it derives from power, artefacts and configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.transport.call import JSON, Call, Reply
from services.bos.bos_client import DOWN, LOOK, UP, Bos, StubbedServices

RUNS = {"kernel": "k", "kernel_parameters": "p", "initrd": "i"}
OTHERS = {**RUNS, "kernel_parameters": "other"}
NOTHING = dict.fromkeys(RUNS, "")
JUST_STARTED = {"action": "powering_on", "failed": False}


class PowerAndConfiguration:
    """PCS and CFS with replies that the test sets."""

    def __init__(self, stubs: StubbedServices) -> None:
        self.power: str | None = "on"
        self.error = ""
        self.cfs: dict[str, Any] | None = {"desired_config": "", "configuration_status": "unconfigured"}
        stubs.answer("pcs", self._pcs)
        stubs.answer("cfs", self._cfs)

    def _pcs(self, call: Call) -> Reply | None:
        if call.path != "/power-status":
            return Reply(200, b"{}", JSON)
        names = json.loads(call.body)["xname"]
        powered = [{"xname": name, "powerState": self.power, "error": self.error} for name in names]
        return _told({"status": powered if self.power is not None else []})

    def _cfs(self, call: Call) -> Reply | None:
        if call.method != "GET":
            return _told({"component_ids": []})
        names = [name for name in call.first("ids").split(",") if name]
        components = [{"id": name, **self.cfs} for name in names] if self.cfs is not None else []
        return _told({"components": components, "next": None})


def _told(body: Any) -> Reply:
    return Reply(200, json.dumps(body).encode(), JSON)


@pytest.fixture
def stub(stubs: StubbedServices) -> PowerAndConfiguration:
    return PowerAndConfiguration(stubs)


def look(bos: Bos, desired: Any, runs: Any = NOTHING, configuration: str = "", **fields: Any) -> dict[str, Any]:
    """A component before and after one round of the operator, with no other operator running."""
    bos.patch(
        UP,
        actual_state={"boot_artifacts": runs},
        desired_state={"boot_artifacts": desired, "configuration": configuration},
        **fields,
    )
    bos.patch(UP, enabled=True)
    bos.step(2.0)
    return bos.component_of(UP)


def summary(component: dict[str, Any]) -> tuple[bool, str, str]:
    return component["enabled"], component["status"].get("phase", ""), component["status"]["status"]


@pytest.mark.parametrize(
    ("power", "desired", "runs", "status"),
    [
        ("off", NOTHING, NOTHING, (False, "", "stable")),
        ("off", RUNS, NOTHING, (True, "powering_on", "power_on_pending")),
        ("on", NOTHING, RUNS, (True, "powering_off", "power_off_pending")),
        ("on", RUNS, RUNS, (False, "", "stable")),
        ("on", RUNS, OTHERS, (True, "powering_off", "power_off_pending")),
        ("undefined", RUNS, RUNS, (False, "", "stable")),
        ("undefined", NOTHING, NOTHING, (True, "powering_off", "power_off_pending")),
    ],
)
def test_power_and_artefacts(
    bos: Bos, stub: PowerAndConfiguration, power: str, desired: Any, runs: Any, status: Any
) -> None:
    stub.power = power
    assert summary(look(bos, desired, runs)) == status


def test_a_node_that_was_just_started_is_waited_for(bos: Bos, stub: PowerAndConfiguration) -> None:
    assert summary(look(bos, RUNS, last_action=JUST_STARTED)) == (True, "powering_on", "power_on_called")
    bos.step(1200 - 2 * LOOK)
    assert bos.status_of(UP) == "power_on_called"
    bos.step(3 * LOOK)
    assert bos.status_of(UP) == "power_off_gracefully_called"


def test_a_node_that_stays_off_is_started_again(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.power = "off"
    component = look(bos, RUNS, last_action=JUST_STARTED)
    assert (component["status"]["status"], component["last_action"]["failed"]) == ("power_on_called", False)
    bos.step(120 - 2 * LOOK)
    assert bos.component_of(UP)["event_stats"]["power_on_attempts"] == 0
    bos.step(3 * LOOK)
    assert bos.component_of(UP)["event_stats"]["power_on_attempts"] == 1


@pytest.mark.parametrize(
    ("in_cfs", "status", "error"),
    [
        ({"desired_config": "c", "configuration_status": "pending"}, (True, "configuring", "configuring"), ""),
        ({"desired_config": "c", "configuration_status": "configured"}, (False, "", "stable"), ""),
        (
            {"desired_config": "c", "configuration_status": "failed"},
            (False, "configuring", "failed"),
            "cfs configuration failed",
        ),
        (
            {"desired_config": "c", "configuration_status": "unconfigured"},
            (False, "configuring", "failed"),
            "cfs is not reporting a valid configuration status for this component: unconfigured",
        ),
        ({"desired_config": "d", "configuration_status": "configured"}, (True, "configuring", "configuring"), ""),
    ],
)
def test_configuration(bos: Bos, stub: PowerAndConfiguration, in_cfs: Any, status: Any, error: str) -> None:
    stub.cfs = in_cfs
    component = look(bos, RUNS, RUNS, "c")
    assert (summary(component), component["error"]) == (status, error)


def test_without_a_configuration_a_node_is_done_when_it_is_up(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.cfs = {"desired_config": "", "configuration_status": "failed"}
    assert summary(look(bos, RUNS, RUNS)) == (False, "", "stable")


def test_nodes_that_pcs_or_cfs_do_not_know(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.power = None
    component = look(bos, RUNS)
    assert summary(component)[::2] == (False, "on_hold")
    assert component["error"] == "Component information was not returned by pcs"
    stub.power, stub.cfs = "on", None
    look(bos, RUNS)
    bos.step(LOOK)
    component = bos.component_of(UP)
    assert summary(component)[::2] == (False, "on_hold")
    assert component["error"] == "Component information was not returned by cfs"


def test_an_error_of_pcs_is_a_state_that_is_not_off(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.error = "Component not found in component map."
    assert summary(look(bos, RUNS, RUNS)) == (False, "", "stable")


@pytest.mark.parametrize("service", ["pcs", "cfs"])
def test_a_service_that_is_away_leaves_things_as_they_are(bos: Bos, stubs: StubbedServices, service: str) -> None:
    stubs.take_down(service)
    assert summary(look(bos, RUNS)) == (True, "", "on_hold")
    bos.step(10 * LOOK)
    assert bos.status_of(UP) == "on_hold"
    stubs.restore(service)
    bos.step(LOOK)
    assert bos.status_of(UP) != "on_hold"


def test_cfs_that_goes_away_on_the_way_holds_everything_up(bos: Bos, stubs: StubbedServices) -> None:
    bos.patch(DOWN, desired_state={"boot_artifacts": RUNS})
    bos.patch(DOWN, enabled=True)
    bos.step(2.0)
    assert bos.status_of(DOWN) == "power_on_pending"
    stubs.take_down("cfs")
    bos.patch(DOWN, last_action=JUST_STARTED)
    bos.step(20 * LOOK)
    assert (bos.status_of(DOWN), bos.component_of(DOWN)["last_action"]["failed"]) == ("power_on_called", False)


def test_what_ran_is_forgotten_when_the_node_is_off(bos: Bos, stub: PowerAndConfiguration) -> None:
    assert summary(look(bos, NOTHING, RUNS))[1] == "powering_off"
    stub.power = "off"
    bos.step(LOOK)
    component = bos.component_of(UP)
    assert not any(component["actual_state"]["boot_artifacts"].values())
    assert summary(component) == (False, "", "stable")


def test_counts_begin_anew_when_a_component_is_done(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.power = "off"
    look(bos, RUNS)
    bos.step(LOOK)
    assert bos.component_of(UP)["event_stats"]["power_on_attempts"] == 1
    stub.power = "on"
    bos.patch(UP, actual_state={"boot_artifacts": RUNS})
    bos.step(LOOK)
    assert bos.component_of(UP)["event_stats"]["power_on_attempts"] == 0


def test_what_failed_is_left_alone(bos: Bos, stub: PowerAndConfiguration) -> None:
    bos.patch(UP, desired_state={"boot_artifacts": RUNS}, retry_policy=0)
    bos.patch(UP, enabled=True)
    bos.step(2 * LOOK)
    component = bos.component_of(UP)
    assert summary(component) == (False, "powering_off", "failed")
    assert component["error"] == (
        "The retry limit has been hit for this component, but no services have reported specific errors"
    )


def test_a_hold_is_lifted_though_nothing_else_changes(bos: Bos, stub: PowerAndConfiguration) -> None:
    stub.power = "off"
    waiting = {"phase": "powering_on", "status_override": "on_hold"}
    status = look(bos, RUNS, status=waiting)["status"]
    assert (status["phase"], status["status_override"]) == ("powering_on", "")
