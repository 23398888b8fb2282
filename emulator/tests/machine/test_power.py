"""Orders to controllers and their effects: cascades, orders that replace earlier ones, controllers that are down."""

from __future__ import annotations

import pytest

from csm_emulator.machine.parts import Part
from csm_emulator.machine.power import OFF, ON, RESETS, ControllerUnreachable, ResetRefused
from machine.bare_machine import BareMachine

CHASSIS, SLOT, BMC = "x1000c0", "x1000c0s0", "x1000c0s0b0"
RUNNING, RESTING = "x1000c0s0b0n0", "x1000c0s0b1n0"
SWITCH = "x1000c0r3"
SERVER, SERVER_BMC = "x3000c0s1b0n0", "x3000c0s1b0"
OUTLETS = ("x3000m0p0v1", "x3000m1p0v1")
LONG = 1000.0


def inside(bare: BareMachine, xname: str) -> list[Part]:
    return [part for part in bare.machine.parts() if part.xname.startswith(xname)]


def test_at_the_start_only_nodes_outside_the_running_list_are_off(bare: BareMachine) -> None:
    for part in bare.machine.parts():
        off = part.type == "Node" and part.xname not in bare.machine.topology.running
        assert bare.power.state(part.xname) == (OFF if off else ON), part.xname
    assert bare.power.since(RUNNING) == 0.0


def test_an_order_takes_its_time(bare: BareMachine) -> None:
    bare.order(RESTING, "On")
    assert bare.power.state(RESTING) == OFF
    bare.step(1.9)
    assert bare.power.state(RESTING) == OFF
    bare.step(6.2)
    assert bare.power.state(RESTING) == ON
    assert bare.event_values("power", RESTING) == [ON]
    since = bare.power.since(RESTING)
    assert bare.clock.now() - 6.2 <= since <= bare.clock.now()
    assert bare.power.state_at(RESTING, since) == ON
    assert bare.power.state_at(RESTING, since - 0.001) == OFF


@pytest.mark.parametrize("action", ["Off", "GracefulShutdown"])
def test_a_graceful_shutdown_stops_the_beat_at_once_and_the_power_later(bare: BareMachine, action: str) -> None:
    bare.order(RUNNING, action)
    assert bare.boot.stage(RUNNING) == "stopping"
    assert bare.event_values("beat", RUNNING) == ["stopped"]
    bare.step(19)
    assert bare.power.state(RUNNING) == ON
    bare.step(72)
    assert (bare.power.state(RUNNING), bare.boot.stage(RUNNING)) == (OFF, "off")


@pytest.mark.parametrize("action", ["Off", "GracefulShutdown", "GracefulRestart"])
def test_without_a_system_a_graceful_order_is_lost(bare: BareMachine, action: str) -> None:
    bare.order(RESTING, "On")
    bare.step(20)
    assert bare.boot.stage(RESTING) == "post"
    bare.order(RESTING, action)
    bare.step(LONG)
    assert bare.boot.stage(RESTING) == "up"
    assert bare.boot.record(RESTING)["boots"] == 1


def test_a_shutdown_cannot_be_called_off(bare: BareMachine) -> None:
    bare.order(RUNNING, "GracefulShutdown")
    bare.step(5)
    for action in ("On", "GracefulShutdown", "GracefulRestart"):
        bare.order(RUNNING, action)
    bare.step(100)
    assert bare.power.state(RUNNING) == OFF
    bare.step(LONG)
    assert bare.power.state(RUNNING) == OFF


def test_force_overtakes_a_shutdown(bare: BareMachine) -> None:
    bare.order(RUNNING, "GracefulShutdown")
    bare.order(RUNNING, "ForceOff")
    bare.step(3.1)
    assert bare.power.state(RUNNING) == OFF
    bare.step(LONG)
    assert bare.event_values("power", RUNNING) == [OFF]


def test_off_overtakes_on(bare: BareMachine) -> None:
    bare.order(RESTING, "On")
    bare.order(RESTING, "ForceOff")
    bare.step(LONG)
    assert bare.power.state(RESTING) == OFF
    assert bare.event_values("power", RESTING) == []


def test_what_is_so_already_stays_so(bare: BareMachine) -> None:
    bare.order(RUNNING, "On")
    bare.order(RESTING, "ForceOff")
    for action in ("GracefulRestart", "ForceRestart", "GracefulShutdown"):
        bare.order(RESTING, action)
    bare.step(LONG)
    assert bare.events == []


def test_a_restart_keeps_the_power_on(bare: BareMachine) -> None:
    bare.order(RUNNING, "ForceRestart")
    bare.step(3.1)
    assert bare.boot.stage(RUNNING) == "post"
    bare.step(LONG)
    assert bare.boot.stage(RUNNING) == "up"
    assert bare.boot.record(RUNNING)["boots"] == 2
    assert bare.event_values("power", RUNNING) == []
    assert bare.event_values("beat", RUNNING) == ["stopped", "started"]


def test_a_graceful_restart_shuts_down_first(bare: BareMachine) -> None:
    bare.order(RUNNING, "GracefulRestart")
    assert bare.boot.stage(RUNNING) == "stopping"
    bare.step(LONG)
    assert bare.event_values("stage", RUNNING) == ["stopping", "post", "pxe", "kernel", "systemd", "up"]
    assert bare.event_values("power", RUNNING) == []


def test_a_restart_in_post_begins_again(bare: BareMachine) -> None:
    bare.order(RESTING, "On")
    bare.step(20)
    bare.order(RESTING, "ForceRestart")
    bare.step(LONG)
    assert bare.boot.stage(RESTING) == "up"
    assert bare.event_values("stage", RESTING)[:2] == ["post", "post"]


def test_a_restart_in_post_takes_as_long_as_any(bare: BareMachine) -> None:
    bare.order(RESTING, "On")
    bare.step(60)
    bare.order(RESTING, "ForceRestart")
    bare.step(3.1)
    assert bare.event_values("stage", RESTING) == ["post", "post"]
    bare.step(56)
    assert bare.boot.stage(RESTING) == "post"
    bare.step(95)
    assert bare.event_values("stage", RESTING)[:3] == ["post", "post", "pxe"]


def test_a_power_cycle_goes_through_off(bare: BareMachine) -> None:
    bare.order(RUNNING, "PowerCycle")
    bare.step(LONG)
    assert bare.event_values("power", RUNNING) == [OFF, ON]
    assert bare.boot.stage(RUNNING) == "up"


def test_a_slot_takes_its_nodes_and_controllers_with_it(bare: BareMachine) -> None:
    bare.order(SLOT, "Off")
    bare.step(5)
    assert {bare.power.state(part.xname) for part in inside(bare, SLOT)} == {OFF}
    assert bare.event_values("power", RUNNING) == [OFF]
    assert bare.event_values("controller", BMC) == ["down"]
    assert not bare.power.reachable(BMC)
    with pytest.raises(ControllerUnreachable, match=BMC):
        bare.order(RUNNING, "On")
    assert bare.power.state("x1000c0s1b0n0") == ON


def test_a_slot_that_is_on_again_has_controllers_soon_and_nodes_when_ordered(bare: BareMachine) -> None:
    bare.order(SLOT, "Off")
    bare.step(5)
    bare.order(SLOT, "On")
    bare.step(9)
    assert bare.power.state(SLOT) == ON
    assert not bare.power.reachable(BMC)
    bare.step(60)
    assert bare.power.reachable(BMC)
    assert bare.event_values("controller", BMC) == ["down", "up"]
    assert bare.power.state(RUNNING) == OFF
    bare.order(RUNNING, "On")
    bare.step(LONG)
    assert bare.boot.sends_heartbeats(RUNNING)


def test_a_chassis_off_and_on(bare: BareMachine) -> None:
    bare.order(CHASSIS, "Off")
    bare.step(5)
    dark = {part.xname for part in inside(bare, CHASSIS) if bare.power.state(part.xname) == OFF}
    assert dark == {part.xname for part in inside(bare, CHASSIS)} - {"x1000c0b0"}
    assert bare.power.reachable("x1000c0b0")
    bare.order(SLOT, "On")
    bare.step(10)
    assert bare.power.state(SLOT) == OFF
    bare.order(CHASSIS, "On")
    bare.step(10)
    assert (bare.power.state(CHASSIS), bare.power.state(SLOT), bare.power.state(SWITCH)) == (ON, OFF, OFF)
    bare.order(SWITCH, "On")
    bare.step(70)
    assert bare.power.reachable(f"{SWITCH}b0")


def test_an_order_under_way_dies_with_the_power(bare: BareMachine) -> None:
    bare.order(RESTING, "On")
    bare.order(CHASSIS, "ForceOff")
    bare.step(5)
    bare.order(CHASSIS, "On")
    bare.step(10)
    bare.order(SLOT, "On")
    bare.step(LONG)
    assert bare.power.state(RESTING) == OFF


def test_one_outlet_of_two_is_enough(bare: BareMachine) -> None:
    bare.order(OUTLETS[0], "Off")
    bare.step(5)
    assert (bare.power.state(SERVER), bare.power.reachable(SERVER_BMC)) == (ON, True)
    bare.order(OUTLETS[1], "Off")
    bare.step(5)
    assert (bare.power.state(SERVER), bare.power.reachable(SERVER_BMC)) == (OFF, False)
    bare.order(OUTLETS[0], "On")
    bare.step(80)
    assert bare.power.reachable(SERVER_BMC)
    bare.order(OUTLETS[1], "On")
    bare.step(10)
    assert bare.power.reachable(SERVER_BMC)
    assert bare.event_values("controller", SERVER_BMC) == ["down", "up"]


def test_a_controller_that_restarts_is_away_and_its_nodes_do_not_care(bare: BareMachine) -> None:
    bare.order(BMC, "ForceRestart")
    with pytest.raises(ControllerUnreachable):
        bare.order(RUNNING, "ForceOff")
    bare.step(59)
    assert not bare.power.reachable(BMC)
    bare.step(32)
    assert bare.power.reachable(BMC)
    assert bare.event_values("controller", BMC) == ["down", "up"]
    assert bare.boot.sends_heartbeats(RUNNING)


def test_power_lost_during_a_restart_counts(bare: BareMachine) -> None:
    bare.order(BMC, "ForceRestart")
    bare.step(30)
    bare.order(SLOT, "Off")
    bare.step(70)
    assert not bare.power.reachable(BMC)
    assert bare.event_values("controller", BMC)[-1] == "down"


def test_the_fault_no_power_on(bare: BareMachine) -> None:
    bare.fault("no-power-on", RESTING, remaining=1)
    bare.order(RESTING, "On")
    bare.step(LONG)
    assert bare.power.state(RESTING) == OFF
    bare.order(RESTING, "On")
    bare.step(10)
    assert bare.power.state(RESTING) == ON


def test_the_fault_bmc_unreachable_lasts_until_it_is_cleared(bare: BareMachine) -> None:
    fault = bare.fault("bmc-unreachable", BMC)
    assert not bare.power.reachable(BMC)
    with pytest.raises(ControllerUnreachable):
        bare.order(RUNNING, "ForceOff")
    bare.faults.clear(fault.id)
    bare.order(RUNNING, "ForceOff")


def test_the_fault_bmc_unreachable_for_the_next_two_calls(bare: BareMachine) -> None:
    bare.fault("bmc-unreachable", BMC, remaining=2)
    assert bare.power.reachable(BMC)
    for _ in range(2):
        with pytest.raises(ControllerUnreachable):
            bare.order(RUNNING, "ForceOff")
    bare.order(RUNNING, "ForceOff")


def test_the_fault_bmc_unreachable_now_and_then(bare: BareMachine) -> None:
    bare.fault("bmc-unreachable", BMC, probability=0.5)
    outcomes = []
    for _ in range(40):
        try:
            bare.order(RUNNING, "On")
            outcomes.append(True)
        except ControllerUnreachable:
            outcomes.append(False)
    assert 8 < sum(outcomes) < 32


@pytest.mark.parametrize(
    ("xname", "action"),
    [
        (RUNNING, "Nonsense"),
        (RUNNING, ""),
        ("x1000", "On"),
        ("x9999c0s0b0n0", "On"),
        ("", "On"),
        (BMC, "On"),
        (SLOT, "GracefulShutdown"),
        ("d0", "Off"),
        ("x3000m0", "ForceRestart"),
    ],
)
def test_a_reset_that_a_part_does_not_know_is_refused(bare: BareMachine, xname: str, action: str) -> None:
    with pytest.raises(ResetRefused):
        bare.order(xname, action)
    assert bare.lines() == []


def test_every_reset_of_every_part_can_be_given(bare: BareMachine) -> None:
    for part in list(bare.machine.parts()):
        for action in RESETS.get(part.type, ()):
            try:
                bare.order(part.xname, action)
            except ControllerUnreachable:
                assert not bare.power.reachable(part.controller)
            bare.step(200)


def test_the_log_has_events_and_their_causes(bare: BareMachine) -> None:
    bare.order(SLOT, "Off")
    bare.step(5)
    entries = [(line["what"], line["target"], line["cause"]) for line in bare.lines()]
    assert entries[:2] == [("power-order", SLOT, "test"), ("power-off", SLOT, "test")]
    assert ("power-off", RUNNING, f"{SLOT} lost power") in entries
    assert ("controller-down", BMC, f"{SLOT} lost power") in entries
