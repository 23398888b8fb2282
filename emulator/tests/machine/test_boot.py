"""From power to heartbeat and back, with what can go wrong on the way."""

from __future__ import annotations

from itertools import pairwise

import pytest

from machine.bare import SCRIPT, Bare

NODE, RUNNING = "x1000c0s1b1n1", "x1000c0s0b0n0"
LADDER = ["post", "pxe", "kernel", "systemd", "up"]
LONG = 1000.0


def test_the_ladder(bare: Bare) -> None:
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.told("stage", NODE) == LADDER
    assert bare.told("beat", NODE) == ["started"]
    assert bare.boot.sends_heartbeats(NODE)


def test_it_takes_three_to_eight_minutes(bare: Bare) -> None:
    bare.order(NODE, "On")
    bare.step(165)
    assert not bare.boot.sends_heartbeats(NODE)
    bare.step(480 - 165)
    assert bare.boot.sends_heartbeats(NODE)


def test_the_kernel_and_its_parameters_come_from_the_boot_script(bare: Bare) -> None:
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
def test_without_a_kernel_the_node_asks_again(bare: Bare, script: str | None) -> None:
    asked: list[float] = []

    def answer(node: str) -> str | None:
        asked.append(bare.clock.now())
        return script if len(asked) < 4 else SCRIPT

    bare.boot.boot_script = answer
    bare.order(NODE, "On")
    bare.step(LONG)
    assert [round(later - earlier, 3) for earlier, later in pairwise(asked)] == [30.0, 30.0, 30.0]
    assert bare.boot.sends_heartbeats(NODE)


@pytest.mark.parametrize("stage", LADDER[:-1])
def test_the_fault_boot_hangs_at_a_stage(bare: Bare, stage: str) -> None:
    bare.fault("boot-hangs", NODE, facts={"stage": stage}, remaining=1)
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.told("stage", NODE) == [*LADDER[: LADDER.index(stage) + 1], "hung"]
    assert bare.power.state(NODE) == "on"
    bare.order(NODE, "GracefulShutdown")
    bare.step(LONG)
    assert bare.boot.stage(NODE) == "hung"
    bare.order(NODE, "ForceRestart")
    bare.step(LONG)
    assert bare.boot.sends_heartbeats(NODE)


def test_a_hang_at_another_stage_is_not_used_up(bare: Bare) -> None:
    bare.fault("boot-hangs", NODE, facts={"stage": "systemd"}, remaining=1)
    bare.fault("boot-hangs", NODE, facts={"stage": "post"}, remaining=1)
    bare.order(NODE, "On")
    bare.step(LONG)
    assert bare.told("stage", NODE) == ["post", "hung"]
    bare.order(NODE, "ForceRestart")
    bare.step(LONG)
    assert bare.told("stage", NODE)[2:] == ["post", "pxe", "kernel", "systemd", "hung"]


def test_a_node_that_is_switched_off_on_the_way_does_not_go_on(bare: Bare) -> None:
    bare.order(NODE, "On")
    bare.step(100)
    bare.order(NODE, "ForceOff")
    bare.step(5)
    bare.order(NODE, "On")
    bare.step(LONG)
    told = bare.told("stage", NODE)
    assert told[told.index("off") :] == ["off", *LADDER]
    assert bare.boot.record(NODE)["boots"] == 2


def test_other_parts_have_no_stage(bare: Bare) -> None:
    assert not bare.boot.sends_heartbeats("x1000c0s0")
    assert not bare.boot.sends_heartbeats("nonsense")


def test_what_is_true_of_a_node_can_be_asked(bare: Bare) -> None:
    told = bare.machine.describe(RUNNING)
    assert told is not None
    assert (told["power"], told["beating"], told["boot"]["stage"]) == ("on", True, "up")
    assert bare.machine.describe("x1") is None
