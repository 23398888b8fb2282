"""The invariants of a machine hold after any sequence of orders, faults, waits, kills and restarts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from csm_emulator.machine.power import RESETS, SWITCHED, ControllerUnreachable, ResetRefused
from csm_emulator.machine.topology import catalog as topologies
from machine.bare_machine import BareMachine
from machine.invariants import check

TINY = topologies.load("tiny")
# Fewer names than parts, so that actions meet at the same parts more often.
NODES = ("x1000c0s0b0n0", "x1000c0s0b1n0", "x1000c0s1b0n0", "x3000c0s1b0n0")
PARTS = (
    *NODES,
    *("x1000c0", "x1000c0s0", "x1000c0s1", "x1000c0r3", "x1000c0b0", "x1000c0s0b0", "x1000c0r3b0", "x3000c0s1b0"),
    *("x3000m0p0v1", "x3000m1p0v1"),
)
ORDERS = [(xname, action) for xname in PARTS for action in RESETS[TINY.parts[xname].type]]
STAGES = ("post", "pxe", "kernel", "systemd")
SWITCHES = [xname for xname in PARTS if TINY.parts[xname].type in SWITCHED]
FAULTS: list[tuple[str, str, dict[str, str]]] = [
    *(("no-power-on", target, {}) for target in ("*", *SWITCHES)),
    *(("bmc-unreachable", target, {}) for target in ("*", *PARTS)),
    *(("boot-hangs", target, {"stage": stage}) for target in ("*", *NODES) for stage in STAGES),
]


class MachineSequences(RuleBasedStateMachine):
    bare: BareMachine

    @initialize(seed=st.integers(0, 3))
    def open(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="canton-truth-"))
        self.seed = seed
        self.bare = BareMachine(self.folder / "state", TINY, seed)

    @rule(order=st.sampled_from(ORDERS))
    def give_an_order(self, order: tuple[str, str]) -> None:
        last_before = self.bare.log.last
        try:
            self.bare.order(*order)
        except (ControllerUnreachable, ResetRefused):
            entries = self.bare.log.after(last_before, 10)
            assert {line["what"] for line in entries} <= {"fault-used-up"}

    @rule(
        action=st.sampled_from(["On", "Off", "ForceOff", "GracefulRestart"]),
        seconds=st.sampled_from([0.0, 30.0, 400.0]),
    )
    def order_all_nodes(self, action: str, seconds: float) -> None:
        for node in NODES:
            self.give_an_order((node, action))
        self.wait(seconds)

    @rule(seconds=st.sampled_from([0.0, 0.5, 2.0, 10.0, 70.0, 130.0, 600.0]) | st.floats(0, 300))
    def wait(self, seconds: float) -> None:
        self.bare.step(seconds)

    @rule(
        fault=st.sampled_from(FAULTS),
        probability=st.sampled_from([1.0, 0.5]),
        remaining=st.none() | st.integers(1, 3),
    )
    def break_something(
        self, fault: tuple[str, str, dict[str, str]], probability: float, remaining: int | None
    ) -> None:
        kind, target, facts = fault
        self.bare.fault(kind, target, probability=probability, remaining=remaining, facts=facts)

    @precondition(lambda self: any(self.bare.faults))
    @rule(which=st.integers(0, 20))
    def repair(self, which: int) -> None:
        faults = list(self.bare.faults)
        self.bare.faults.clear(faults[which % len(faults)].id)

    @rule()
    def keep(self) -> None:
        self.bare.keep()

    @rule()
    def keep_and_open_again(self) -> None:
        """A restart leaves everything as it was."""
        self.bare.keep()
        contents, lines, now = self.bare.contents(), self.bare.lines(), self.bare.clock.now()
        self._reopen()
        assert self.bare.contents() == contents
        assert self.bare.lines() == lines
        assert self.bare.clock.now() == now

    @rule()
    def crash(self) -> None:
        """Changes that were not stored are gone after a crash."""
        numbers = [number for number, _ in self.bare.kept.entries(0, 1_000_000)]
        self._reopen()
        assert [line["number"] for line in self.bare.lines()] == numbers

    def _reopen(self) -> None:
        self.bare.close()
        self.bare = BareMachine(self.folder / "state", TINY, self.seed)

    @invariant()
    def invariants_hold(self) -> None:
        if hasattr(self, "bare"):
            check(self.bare)

    def teardown(self) -> None:
        if hasattr(self, "bare"):
            self.bare.close()
            shutil.rmtree(self.folder)


TestMachineSequences = MachineSequences.TestCase
TestMachineSequences.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
