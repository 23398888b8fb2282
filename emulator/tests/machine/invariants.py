"""Invariants of a machine, which hold at any moment after any sequence of actions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from csm_emulator.machine.boot import KERNEL, POST, PXE, STOPPING, SYSTEMD
from csm_emulator.machine.power import OFF, ON, SWITCHED
from machine.bare_machine import BareMachine

ON_THE_WAY = {POST, PXE, KERNEL, SYSTEMD}


def check(bare: BareMachine) -> None:
    check_power(bare)
    check_nodes(bare)
    check_scheduler(bare)
    check_log(bare)


def check_power(bare: BareMachine) -> None:
    for part in bare.machine.parts(*SWITCHED):
        assert bare.power.state(part.xname) == OFF or bare.power.has_input_power(part.xname), (
            f"{part.xname} is on without power"
        )
        assert bare.power.since(part.xname) <= bare.clock.now()
    for part in bare.machine.parts():
        if bare.power.reachable(part.xname):
            assert bare.power.state(part.xname) == ON, f"{part.xname} answers without power"


def check_nodes(bare: BareMachine) -> None:
    for part in bare.machine.parts("Node"):
        node = part.xname
        stage = bare.boot.stage(node)
        assert (stage == "off") == (bare.power.state(node) == OFF), f"{node} is {bare.power.state(node)} and in {stage}"
        assert bare.boot.sends_heartbeats(node) == (stage == "up")


def check_scheduler(bare: BareMachine) -> None:
    """Scheduled actions concern known parts, and every started process has its next action."""
    live: dict[str, int] = {}
    orders = bare.table("machine.power.orders")
    for moment, kind, args in bare.scheduled_actions():
        assert moment >= bare.clock.now()
        assert kind in bare.scheduler._actions
        assert bare.machine.part(args[0]) is not None
        if kind == "boot.end-stage":
            record = bare.boot.record(args[0])
            counts = (record["stage"], record["boots"]) == (args[1], args[2])
        elif kind.startswith("power."):
            counts = orders[args[0]] == args[1]
        else:
            counts = False
        if counts:
            live[args[0]] = live.get(args[0], 0) + 1
    for part in bare.machine.parts("Node"):
        if bare.boot.stage(part.xname) in ON_THE_WAY | {STOPPING}:
            assert live.get(part.xname, 0) >= 1, f"{part.xname} stays in {bare.boot.stage(part.xname)} for ever"


def check_log(bare: BareMachine) -> None:
    """The log has no gaps, is in order of time, and its entries add up to the state."""
    lines = bare.lines()
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(_moment(one) <= _moment(later) for one, later in pairwise(lines))
    power, stages = _replayed(bare, lines)
    for part in bare.machine.parts(*SWITCHED):
        assert bare.power.state(part.xname) == power[part.xname]
    for part in bare.machine.parts("Node"):
        assert bare.boot.stage(part.xname) == stages[part.xname]


def _moment(line: dict[str, Any]) -> tuple[str, float]:
    whole, _, fraction = line["at"].removesuffix("Z").partition(".")
    return whole, float(f"0.{fraction or 0}")


def _replayed(bare: BareMachine, lines: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    running = bare.machine.topology.running
    power = {part.xname: ON for part in bare.machine.parts(*SWITCHED)}
    power |= {part.xname: ON if part.xname in running else OFF for part in bare.machine.parts("Node")}
    stages = {part.xname: "up" if part.xname in running else "off" for part in bare.machine.parts("Node")}
    for line in lines:
        if line["what"] in ("power-on", "power-off"):
            assert power[line["target"]] != line["what"].removeprefix("power-"), f"no change: {line}"
            power[line["target"]] = line["what"].removeprefix("power-")
        elif line["what"] == "boot-stage":
            stages[line["target"]] = line["stage"]
    return power, stages
