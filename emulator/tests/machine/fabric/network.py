"""A machine's high-speed network alone, with helpers for the changes that tests make."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from csm_emulator.machine.fabric.fabric import FrameTrace
from csm_emulator.machine.fabric.ports import Ranges
from machine.bare_machine import BareMachine
from service_client import load

ONE, TWO, THREE, FOUR = "x1000c0s0b0n0h0", "x1000c0s0b1n0h0", "x1000c0s0b0n1h0", "x1000c0s0b1n1h0"
"""In ``tiny`` the first two are at the first switch, the others at the second."""
LEFT, RIGHT = "x1000c0r3", "x1000c0r7"
UPLINK, DOWNLINK = "x1000c0r3j9p0", "x1000c0r7j9p0"
"""The one cable between the switches."""
UNPLUGGED = "x3000c0s1b0n0h0"


class Network(BareMachine):
    def __init__(self, path: Path, name: str = "tiny") -> None:
        super().__init__(path, load(name))
        self.fabric = self.machine.fabric
        self.nics = [nic for nic in self.fabric.plan.nics if nic in self.fabric.plan.port_of]

    def port(self, nic: str) -> str:
        """The planned state of an edge port."""
        return self.fabric.plan.port_of[nic]

    def configure(self, nic: str, **changes: Any) -> None:
        self.fabric.configure(self.port(nic), "test", **changes)

    def put_in(self, nic: str, vlan: int, *more: int) -> None:
        """A port with the VLAN policy of one tenant."""
        self.configure(nic, native=vlan, allowed=frozenset({vlan, *more}), untagged=True)

    def enforce(self, nic: str, *ranges: tuple[int, int]) -> None:
        vnis: Ranges = ranges
        self.configure(nic, vnis=vnis)

    def reaches(self, source: str, target: str, vlan: int | None = None) -> bool:
        return self.walk(source, target, vlan).reached

    def walk(self, source: str, target: str, vlan: int | None = None) -> FrameTrace:
        return self.fabric.trace_frame(source, target, vlan)

    def heard_by(self, source: str, vlan: int | None = None) -> set[str]:
        return set(self.fabric.broadcast(source, vlan))

    def crossing(self, sources: Iterable[str], targets: Iterable[str], vlan: int | None) -> set[tuple[str, str]]:
        target_ports = list(targets)
        return {
            (one, target)
            for one in sources
            for target in target_ports
            if one != target and self.reaches(one, target, vlan)
        }
