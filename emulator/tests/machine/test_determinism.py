"""The result depends on the seed, the orders and their moments; not on the size of time steps, nor on restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from csm_emulator.machine.topology import catalog as topologies
from machine.bare_machine import BareMachine

TINY = topologies.load("tiny")
# The moment, the xname and the order.
ORDERS = [
    (0.0, "x1000c0s0b1n0", "On"),
    (0.0, "x1000c0s0b0n0", "GracefulRestart"),
    (40.0, "x1000c0s1b1n1", "On"),
    (41.5, "x1000c0s1b0", "ForceRestart"),
    (300.0, "x1000c0s0", "Off"),
    (400.0, "x1000c0s0", "On"),
    (500.0, "x1000c0s0b1n0", "On"),
]
END = 1500.0


def play(bare: BareMachine, step: float, restart_at: float | None = None) -> list[dict[str, Any]]:
    """Plays the orders at their moments, in steps of at most ``step`` seconds."""
    bare.fault("boot-hangs", "*", probability=0.3, facts={"stage": "pxe"})
    start = bare.clock.now()
    for moment, xname, action in [*ORDERS, (END, "", "")]:
        while (remaining := start + moment - bare.clock.now()) > 1e-9:
            if restart_at is not None and bare.clock.now() - start >= restart_at:
                bare, restart_at = _restarted(bare), None
            bare.step(min(step, remaining))
        if xname:
            bare.order(xname, action)
    lines = bare.lines()
    bare.close()
    return lines


def _restarted(bare: BareMachine) -> BareMachine:
    bare.keep()
    bare.close()
    return BareMachine(bare.path, TINY)


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    one, second = (play(BareMachine(tmp_path / name, TINY), END) for name in ("one", "other"))
    assert one == second
    assert len(one) > 30


def test_another_seed_gives_other_times(tmp_path: Path) -> None:
    one = play(BareMachine(tmp_path / "one", TINY, seed=1), END)
    other_log = play(BareMachine(tmp_path / "other", TINY, seed=2), END)
    assert [line["at"] for line in one] != [line["at"] for line in other_log]


@pytest.mark.parametrize("step", [0.7, 10.0, 333.0])
def test_steps_do_not_matter(tmp_path: Path, step: float) -> None:
    assert play(BareMachine(tmp_path / "leaps", TINY), END) == play(BareMachine(tmp_path / "steps", TINY), step)


@pytest.mark.parametrize("moment", [1.0, 45.0, 320.0, 700.0])
def test_restarts_do_not_matter(tmp_path: Path, moment: float) -> None:
    whole = play(BareMachine(tmp_path / "whole", TINY), 5.0)
    assert play(BareMachine(tmp_path / "restarted", TINY), 5.0, restart_at=moment) == whole


def test_chance_does_not_depend_on_what_else_happens(tmp_path: Path) -> None:
    """A node takes the same time alone and among other nodes."""
    alone, among = BareMachine(tmp_path / "alone", TINY), BareMachine(tmp_path / "among", TINY)
    among.order("x1000c0s1b1n0", "On")
    for bare in (alone, among):
        bare.order("x1000c0s0b1n0", "On")
        bare.step(END)
    one, with_others = (
        [line["at"] for line in bare.lines() if line["target"] == "x1000c0s0b1n0"] for bare in (alone, among)
    )
    assert one == with_others
    alone.close()
    among.close()
