"""The stages of a transition, in its tasks and in the hardware."""

from __future__ import annotations

import pytest

from csm_emulator.machine.power import Power, ResetRefused
from csm_emulator.transport.call import Call, Reply
from power_client import BLADE, BMC, DOWN, DOWN_TOO, UP, UP_TOO, Pcs

DEADLINE = 300.0
WRONG_STATE = "Component is in the wrong power state"


def lock(pcs: Pcs, xname: str) -> None:
    reply = pcs.site.mesh.ask("smd", "POST", "/hsm/v2/locks/lock", {"ComponentIDs": [xname]})
    assert reply.ok, reply.body


def reserve(pcs: Pcs, xname: str) -> dict[str, str]:
    body = {"ComponentIDs": [xname], "ProcessingModel": "rigid", "ReservationDuration": 15}
    reply = pcs.site.mesh.ask("smd", "POST", "/hsm/v2/locks/service/reservations", body)
    assert reply.ok, reply.body
    return dict(reply.json()["Success"][0])


def reserved(pcs: Pcs, xname: str) -> bool:
    reply = pcs.site.mesh.ask("smd", "POST", "/hsm/v2/locks/status", {"ComponentIDs": [xname]})
    return bool(reply.json()["Components"][0]["Reserved"])


def test_on(pcs: Pcs) -> None:
    transition = pcs.start("On", DOWN)
    assert pcs.state(transition) == "new"
    pcs.site.step(1.0)
    assert pcs.task(transition, DOWN) == {
        "xname": DOWN,
        "taskStatus": "in-progress",
        "taskStatusDescription": "Confirming successful transition, on",
    }
    assert reserved(pcs, DOWN)
    pcs.finish(transition, 45.0)
    record = pcs.show(transition)
    assert record["tasks"] == [
        {"xname": DOWN, "taskStatus": "succeeded", "taskStatusDescription": "Transition confirmed, on"}
    ]
    assert record["taskCounts"] == {
        "total": 1,
        "new": 0,
        "in-progress": 0,
        "failed": 0,
        "succeeded": 1,
        "un-supported": 0,
    }
    assert pcs.site.machine.power.state(DOWN) == "on"
    assert not reserved(pcs, DOWN)


def test_confirmation_comes_with_a_poll_and_not_before(pcs: Pcs) -> None:
    pcs.site.step(10.0)
    transition = pcs.start("on", DOWN)
    pcs.site.step(19.0)
    assert pcs.site.machine.power.state(DOWN) == "on"
    assert pcs.state(transition) == "in-progress"
    pcs.site.step(1.0)
    assert pcs.status(DOWN)["powerState"] == "on"
    pcs.site.step(9.0)
    assert pcs.state(transition) == "in-progress"
    pcs.site.step(1.0)
    assert pcs.state(transition) == "completed"


def test_off_is_graceful_while_an_operating_system_runs(pcs: Pcs) -> None:
    transition = pcs.start("off", UP)
    assert pcs.finish(transition) < DEADLINE
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Transition confirmed, gracefulshutdown"
    assert pcs.orders(UP) == ["GracefulShutdown"]
    assert pcs.site.machine.power.state(UP) == "off"


def test_off_forces_a_node_that_hangs_at_the_deadline(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("off", DOWN)
    pcs.site.step(DEADLINE - 1.0)
    assert pcs.orders(DOWN) == ["On", "GracefulShutdown"]
    pcs.site.step(1.0)
    assert pcs.orders(DOWN) == ["On", "GracefulShutdown", "ForceOff"]
    assert pcs.task(transition, DOWN)["taskStatusDescription"] == "Confirming successful transition, forceoff"
    pcs.finish(transition, 60.0)
    assert pcs.task(transition, DOWN)["taskStatusDescription"] == "Transition confirmed, forceoff"
    assert pcs.site.machine.power.state(DOWN) == "off"


def test_deadline_in_minutes(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("off", DOWN, taskDeadlineMinutes=1)
    pcs.site.step(60.0)
    assert pcs.orders(DOWN)[-1] == "ForceOff"
    pcs.finish(transition, 60.0)


def test_soft_off_never_forces(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("soft-off", DOWN)
    pcs.finish(transition)
    assert pcs.task(transition, DOWN) == {
        "xname": DOWN,
        "taskStatus": "failed",
        "taskStatusDescription": "Failed to achieve transition",
        "error": "Timeout waiting for transition, gracefulshutdown.",
    }
    assert pcs.orders(DOWN) == ["On", "GracefulShutdown"]
    assert pcs.site.machine.power.state(DOWN) == "on"


def test_force_off_does_not_ask(pcs: Pcs) -> None:
    transition = pcs.start("Force-Off", UP)
    pcs.finish(transition, 45.0)
    assert pcs.orders(UP) == ["ForceOff"]


@pytest.mark.parametrize("operation", ["Soft-Restart", "Hard-Restart"])
def test_a_restart_requires_a_node_that_is_on(pcs: Pcs, operation: str) -> None:
    transition = pcs.start(operation, DOWN)
    pcs.finish(transition, 1.0)
    assert pcs.task(transition, DOWN) == {
        "xname": DOWN,
        "taskStatus": "failed",
        "taskStatusDescription": f"Component must be in the On state for {operation}",
        "error": WRONG_STATE,
    }
    assert pcs.orders(DOWN) == []


def test_soft_restart_is_one_order(pcs: Pcs) -> None:
    transition = pcs.start("soft-restart", UP)
    pcs.finish(transition)
    assert pcs.orders(UP) == ["GracefulRestart"]
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Transition confirmed, gracefulrestart"


def test_hard_restart_is_off_and_on(pcs: Pcs) -> None:
    transition = pcs.start("hard-restart", UP)
    states: list[str] = []
    while pcs.state(transition) != "completed":
        pcs.site.step(5.0)
        description = pcs.task(transition, UP)["taskStatusDescription"]
        states += [description] if description not in states else []
    assert states == [
        "Confirming successful transition, gracefulshutdown",
        "Confirming successful transition, on",
        "Transition confirmed, on",
    ]
    assert pcs.orders(UP) == ["GracefulShutdown", "On"]


def test_init_takes_it_from_any_state(pcs: Pcs) -> None:
    transition = pcs.start("init", UP, DOWN)
    pcs.finish(transition)
    assert pcs.orders(UP) == ["GracefulShutdown", "On"]
    assert pcs.orders(DOWN) == ["On"]
    assert pcs.show(transition)["taskCounts"]["succeeded"] == 2


def test_a_controller_restarts_and_does_nothing_else(pcs: Pcs) -> None:
    restart, off = pcs.start("soft-restart", BMC), pcs.start("off", BMC)
    pcs.site.step(1.0)
    assert not pcs.site.machine.power.reachable(BMC)
    pcs.finish(restart)
    assert pcs.task(restart, BMC)["taskStatus"] == "succeeded"
    pcs.finish(off)
    assert pcs.task(off, BMC) == {
        "xname": BMC,
        "taskStatus": "unsupported",
        "taskStatusDescription": "Component does not support the specified transition operation, Off",
        "error": "Unsupported for transition operation",
    }


def test_already_there(pcs: Pcs) -> None:
    transition = pcs.start("on", UP)
    pcs.finish(transition, 1.0)
    assert pcs.task(transition, UP) == {
        "xname": UP,
        "taskStatus": "succeeded",
        "taskStatusDescription": "Component already in desired state",
    }
    assert pcs.orders(UP) == []


def test_what_cannot_be_is_a_task_that_fails(pcs: Pcs) -> None:
    transition = pcs.start("on", "x1000", "nonsense", "x1000c7s7b0n0", "X1000C0S0B1N0", UP)
    pcs.finish(transition, 1.0)
    tasks = {task["xname"]: (task["taskStatus"], task.get("error")) for task in pcs.show(transition)["tasks"]}
    assert tasks == {
        "x1000": ("unsupported", "No power control for component type Cabinet"),
        "nonsense": ("failed", "Invalid xname"),
        "x1000c7s7b0n0": ("failed", "Missing xname"),
        "X1000C0S0B1N0": ("failed", "Invalid xname"),
        UP: ("succeeded", None),
    }
    assert pcs.show(transition)["taskCounts"]["un-supported"] == 1


def test_an_xname_named_twice_is_one_task(pcs: Pcs) -> None:
    transition = pcs.start("on", DOWN, DOWN)
    pcs.finish(transition)
    assert pcs.show(transition)["taskCounts"]["total"] == 1
    assert pcs.orders(DOWN) == ["On"]


def test_nothing_to_do_is_completed_without_tasks(pcs: Pcs) -> None:
    transition = pcs.start("on")
    pcs.finish(transition, 1.0)
    assert "tasks" not in pcs.show(transition)


def test_abort(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("off", DOWN, UP)
    pcs.site.step(150.0)
    reply = pcs.ask("DELETE", f"/transitions/{transition}")
    assert (reply.status, reply.json()) == (202, {"abortStatus": "Accepted - abort initiated"})
    assert pcs.state(transition) == "abort-signaled"
    pcs.finish(transition, 15.0)
    assert pcs.state(transition) == "aborted"
    assert pcs.task(transition, DOWN) == {
        "xname": DOWN,
        "taskStatus": "failed",
        "taskStatusDescription": "Aborted. Last status - Confirming successful transition, gracefulshutdown",
        "error": "Transition aborted",
    }
    assert pcs.task(transition, UP)["taskStatus"] == "succeeded"
    assert not reserved(pcs, DOWN)
    pcs.site.step(600.0)
    assert "ForceOff" not in pcs.orders(DOWN)
    assert pcs.ask("DELETE", f"/transitions/{transition}").status == 202


def test_abort_before_it_began(pcs: Pcs) -> None:
    transition = pcs.start("on", DOWN)
    assert pcs.ask("DELETE", f"/transitions/{transition}").status == 202
    pcs.finish(transition, 1.0)
    assert pcs.state(transition) == "aborted"
    assert pcs.orders(DOWN) == []


def test_what_is_over_cannot_be_aborted(pcs: Pcs) -> None:
    transition = pcs.start("on", UP)
    pcs.finish(transition)
    reply = pcs.ask("DELETE", f"/transitions/{transition}")
    assert reply.status == 400
    assert reply.json()["detail"] == "Transition is already finished and cannot be aborted."


def test_locked_node(pcs: Pcs) -> None:
    lock(pcs, DOWN)
    transition = pcs.start("on", DOWN, DOWN_TOO)
    pcs.finish(transition)
    assert pcs.task(transition, DOWN) == {
        "xname": DOWN,
        "taskStatus": "failed",
        "taskStatusDescription": "Failed to achieve transition",
        "error": "Unable to reserve component",
    }
    assert pcs.orders(DOWN) == []
    assert pcs.task(transition, DOWN_TOO)["taskStatus"] == "succeeded"


def test_of_two_at_once_the_second_gets_nothing(pcs: Pcs) -> None:
    first, second = pcs.start("on", DOWN), pcs.start("on", DOWN, DOWN_TOO)
    pcs.finish(second)
    assert pcs.task(second, DOWN)["error"] == "Unable to reserve component"
    assert pcs.task(second, DOWN_TOO)["taskStatus"] == "succeeded"
    pcs.finish(first)
    assert pcs.task(first, DOWN)["taskStatus"] == "succeeded"
    assert pcs.orders(DOWN) == ["On"]


def test_a_deputy_key_lets_us_act_and_stays_its_owners(pcs: Pcs) -> None:
    keys = reserve(pcs, DOWN)
    location = [{"xname": DOWN, "deputyKey": keys["DeputyKey"]}]
    transition = pcs.start("on", location=location)
    pcs.finish(transition)
    assert pcs.task(transition, DOWN)["taskStatus"] == "succeeded"
    assert reserved(pcs, DOWN)


def test_a_wrong_deputy_key_does_not(pcs: Pcs) -> None:
    reserve(pcs, DOWN)
    transition = pcs.start("on", location=[{"xname": DOWN, "deputyKey": f"{DOWN}:dk:nonsense"}])
    pcs.finish(transition)
    assert pcs.task(transition, DOWN)["error"] == "Invalid deputy key and unable to reserve component"


def test_a_long_transition_keeps_its_reservation(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    pcs.start("soft-off", DOWN)
    pcs.site.step(200.0)
    assert reserved(pcs, DOWN)


def test_a_blade_stays_on_when_its_node_will_not_stop(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("soft-off", DOWN, UP, UP_TOO, BLADE)
    pcs.finish(transition)
    message = f"Timeout waiting for transition, gracefulshutdown, on dependency, {DOWN}."
    assert pcs.task(transition, BLADE) == {
        "xname": BLADE,
        "taskStatus": "failed",
        "taskStatusDescription": message,
        "error": message,
    }
    assert pcs.site.machine.power.state(BLADE) == "on"


def test_a_blade_goes_off_after_its_nodes_and_comes_on_before_them(pcs: Pcs) -> None:
    pcs.finish(pcs.start("off", BLADE, UP, UP_TOO))
    assert pcs.site.machine.power.state(BLADE) == "off"
    pcs.site.step(30.0)
    assert pcs.status(UP)["managementState"] == "unavailable"
    transition = pcs.start("on", UP, BLADE)
    pcs.site.step(50.0)
    assert pcs.task(transition, BLADE)["taskStatus"] == "succeeded"
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Waiting for controller to be ready"
    pcs.finish(transition)
    assert pcs.task(transition, UP)["taskStatus"] == "succeeded"
    assert pcs.orders(UP) == ["GracefulShutdown", "On"]


def test_a_controller_that_does_not_answer(pcs: Pcs) -> None:
    pcs.break_("bmc-unreachable", BMC)
    transition = pcs.start("off", UP, DOWN_TOO)
    pcs.site.step(39.0)
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Applying transition, gracefulshutdown"
    pcs.site.step(1.0)
    task = pcs.task(transition, UP)
    assert (task["taskStatus"], task["taskStatusDescription"]) == (
        "failed",
        "Failed to apply transition, gracefulshutdown",
    )
    assert task["error"].endswith("context deadline exceeded")
    pcs.finish(transition)


def test_a_controller_that_refuses_counts_as_one_that_took_the_order(pcs: Pcs, monkeypatch: pytest.MonkeyPatch) -> None:
    """PCS's check of the answer's status can never be true; only the deadline shows that the order had no effect."""

    def refuse(_self: Power, xname: str, action: str, _cause: str) -> None:
        raise ResetRefused(f"{xname} knows no reset {action}")

    monkeypatch.setattr(Power, "reset", refuse)
    transition = pcs.start("on", DOWN)
    pcs.site.step(1.0)
    assert pcs.task(transition, DOWN)["taskStatusDescription"] == "Confirming successful transition, on"
    assert pcs.finish(transition) >= 60.0
    assert pcs.task(transition, DOWN)["error"] == "Timeout waiting for transition, on."


def test_a_failure_of_pcs_alone(pcs: Pcs) -> None:
    pcs.break_("pcs-failure", DOWN)
    transition = pcs.start("on", DOWN, DOWN_TOO)
    pcs.finish(transition)
    assert "status 503 (Service Unavailable)" in pcs.task(transition, DOWN)["error"]
    assert pcs.orders(DOWN) == []
    assert pcs.task(transition, DOWN_TOO)["taskStatus"] == "succeeded"


def test_a_node_that_stays_off(pcs: Pcs) -> None:
    pcs.break_("no-power-on", DOWN)
    transition = pcs.start("on", DOWN)
    pcs.finish(transition)
    assert pcs.task(transition, DOWN)["error"] == "Timeout waiting for transition, on."


def test_deadline_0_looks_once_all_the_same(pcs: Pcs) -> None:
    """The specification says otherwise: the loop of domain/transitions.go is entered with ``||``."""
    transition = pcs.start("off", UP, taskDeadlineMinutes=0)
    pcs.site.step(1.0)
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Transition applied, gracefulshutdown. Not confirming."
    pcs.site.step(15.0)
    assert pcs.orders(UP) == ["GracefulShutdown", "ForceOff"]
    pcs.finish(transition)


def test_deadline_minus_1_waits_until_an_abort(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("off", DOWN, taskDeadlineMinutes=-1)
    pcs.site.step(7200.0)
    assert pcs.state(transition) == "in-progress"
    pcs.ask("DELETE", f"/transitions/{transition}")
    pcs.finish(transition, 15.0)


def test_hsm_away_is_waited_for(pcs: Pcs) -> None:
    pcs.break_("service-restart", "smd", seconds=5)
    transition = pcs.start("on", DOWN)
    pcs.site.step(4.0)
    assert pcs.task(transition, DOWN)["taskStatusDescription"] == "Gathering data"
    pcs.finish(transition)
    assert pcs.task(transition, DOWN)["taskStatus"] == "succeeded"


def test_but_not_for_ever(pcs: Pcs) -> None:
    pcs.break_("service-restart", "smd", seconds=600)
    transition = pcs.start("on", DOWN)
    assert 31.0 <= pcs.finish(transition) < 70.0
    assert pcs.task(transition, DOWN)["error"] == "Error retrieving HSM data"
    assert pcs.orders(DOWN) == []


def test_many_nodes_cost_hsm_no_more_calls_than_one(pcs: Pcs) -> None:
    paths: list[str] = []
    through = pcs.site.mesh._ask

    def count(service: str, call: Call) -> Reply:
        if service == "smd" and any(part in call.path for part in ("/locks/", "/State/", "/powermaps")):
            paths.append(f"{call.method} {call.path}")
        return through(service, call)

    pcs.site.mesh._ask = count
    pcs.finish(pcs.start("on", DOWN))
    for_one, paths[:] = list(paths), []
    pcs.site.step(30.0)
    pcs.finish(pcs.start("on", *(f"x1000c0s1b{b}n{n}" for b in (0, 1) for n in (0, 1))))
    assert paths == for_one
    assert paths.count("POST /hsm/v2/locks/service/reservations") == 1
