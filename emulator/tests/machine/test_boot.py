"""From power to heartbeat and back, with what can go wrong on the way."""

from __future__ import annotations

from itertools import pairwise

import pytest

from machine.bare_machine import SCRIPT, BareMachine

NODE, RUNNING = "x1000c0s1b1n1", "x1000c0s0b0n0"
LADDER = ["post", "pxe", "kernel", "systemd", "up"]
LONG = 1000.0


def test_the_ladder(bare: BareMachine) -> None:
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.event_values("stage", NODE) == LADDER
    assert bare.event_values("beat", NODE) == ["started"]
    assert bare.boot.sends_heartbeats(NODE)


def test_it_takes_three_to_eight_minutes(bare: BareMachine) -> None:
    bare.order(NODE, "On")
    bare.step(165)
    assert not bare.boot.sends_heartbeats(NODE)
    bare.step(480 - 165)
    assert bare.boot.sends_heartbeats(NODE)


def test_the_kernel_and_its_parameters_come_from_the_boot_script(bare: BareMachine) -> None:
    bare.boot.boot_script = lambda node: f"#!ipxe\nkernel http://rgw/{node}/kernel quiet ip=dhcp\nboot"
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.boot.record(NODE) == {
        "stage": "up",
        "boots": 1,
        "kernel": f"http://rgw/{NODE}/kernel",
        "parameters": "quiet ip=dhcp",
    }


@pytest.mark.parametrize(
    "script", [None, "", "#!ipxe\nsleep 10\nchain https://bss/bootscript", "# kernel of nothing", "kernelx"]
)
def test_without_a_kernel_the_node_asks_again(bare: BareMachine, script: str | None) -> None:
    moments: list[float] = []

    def answer(node: str) -> str | None:
        moments.append(bare.clock.now())
        return script if len(moments) < 4 else SCRIPT

    bare.boot.boot_script = answer
    bare.order(NODE, "On")
    bare.step(LONG)
    assert [round(later - earlier, 3) for earlier, later in pairwise(moments)] == [30.0, 30.0, 30.0]
    assert bare.boot.sends_heartbeats(NODE)


@pytest.mark.parametrize("stage", LADDER[:-1])
def test_the_fault_boot_hangs_at_a_stage(bare: BareMachine, stage: str) -> None:
    bare.fault("boot-hangs", NODE, facts={"stage": stage}, remaining=1)
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.event_values("stage", NODE) == [*LADDER[: LADDER.index(stage) + 1], "hung"]
    assert bare.power.state(NODE) == "on"
    bare.order(NODE, "GracefulShutdown")
    bare.step(LONG)
    assert bare.boot.stage(NODE) == "hung"
    bare.order(NODE, "ForceRestart")
    bare.step(LONG)
    assert bare.boot.sends_heartbeats(NODE)


def test_a_hang_at_another_stage_is_not_used_up(bare: BareMachine) -> None:
    bare.fault("boot-hangs", NODE, facts={"stage": "systemd"}, remaining=1)
    bare.fault("boot-hangs", NODE, facts={"stage": "post"}, remaining=1)
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.event_values("stage", NODE) == ["post", "hung"]
    bare.order(NODE, "ForceRestart")
    bare.step(LONG)
    assert bare.event_values("stage", NODE)[2:] == ["post", "pxe", "kernel", "systemd", "hung"]


def test_a_node_that_is_switched_off_on_the_way_does_not_go_on(bare: BareMachine) -> None:
    bare.order(NODE, "On")
    bare.step(100)
    bare.order(NODE, "ForceOff")
    bare.step(5)
    bare.order(NODE, "On")
    bare.step(LONG)
    stages = bare.event_values("stage", NODE)
    assert stages[stages.index("off") :] == ["off", *LADDER]
    assert bare.boot.record(NODE)["boots"] == 2


def test_other_parts_have_no_stage(bare: BareMachine) -> None:
    assert not bare.boot.sends_heartbeats("x1000c0s0")
    assert not bare.boot.sends_heartbeats("nonsense")


def test_what_is_true_of_a_node_can_be_asked(bare: BareMachine) -> None:
    description = bare.machine.describe(RUNNING)
    assert description is not None
    assert (description["power"], description["beating"], description["boot"]["stage"]) == ("on", True, "up")
    assert bare.machine.describe("x1") is None
