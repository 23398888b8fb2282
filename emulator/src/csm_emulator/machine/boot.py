"""The boot stages of nodes: POST, iPXE, kernel, systemd, up, and shutdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from csm_emulator.machine import timings
from csm_emulator.machine.context import MachineContext

if TYPE_CHECKING:
    from csm_emulator.machine.machine import Machine

OFF, POST, PXE, KERNEL, SYSTEMD, UP, STOPPING, HUNG = (
    "off",
    "post",
    "pxe",
    "kernel",
    "systemd",
    "up",
    "stopping",
    "hung",
)
_NEXT = {POST: PXE, PXE: KERNEL, KERNEL: SYSTEMD, SYSTEMD: UP}
_SPANS = {POST: timings.POST, PXE: timings.PXE, KERNEL: timings.KERNEL, SYSTEMD: timings.SYSTEMD}
# The command `kernel` of iPXE: options, address, kernel parameters, and what to do on failure.
_KERNEL = re.compile(r"^kernel\s+(?:--name\s+\S+\s+)?(\S+) *(.*)$", re.MULTILINE)
_OR_ELSE = re.compile(r"\|\| *goto ")

BootScript = Callable[[str], str | None]
"""Returns the iPXE script for a node, or None when BSS does not answer."""


class BootRecord(TypedDict):
    stage: str
    boots: int
    """How often the node was booted."""
    kernel: str
    """The URL of the kernel that was booted last; empty before the first boot."""
    parameters: str


class Boot:
    """Stage, number of boots, kernel and kernel parameters of each node."""

    def __init__(self, machine: Machine, context: MachineContext) -> None:
        self._context = context
        self._machine = machine
        self.boot_script: BootScript = lambda _: None
        self.tftp_answers: Callable[[], bool] = lambda: True
        """Whether TFTP sends iPXE to the firmware of nodes."""
        up = BootRecord(stage=UP, boots=1, kernel="", parameters="")
        down = BootRecord(stage=OFF, boots=0, kernel="", parameters="")
        running = machine.topology.running
        self._table = context.tables.open(
            "machine.boot", {part.xname: up if part.xname in running else down for part in machine.parts("Node")}
        )
        context.scheduler.register("boot.end-stage", self._end_stage)

    def record(self, node: str) -> BootRecord:
        return self._table[node].copy()

    def stage(self, node: str) -> str:
        return self._table[node]["stage"]

    def sends_heartbeats(self, node: str) -> bool:
        """Whether the node sends heartbeats."""
        return node in self._table and self.stage(node) == UP

    def begin_shutdown(self, node: str) -> bool:
        """Starts a shutdown; returns False if no operating system runs that could do it."""
        if self.stage(node) != UP:
            return False
        self._enter(node, STOPPING, "shutdown")
        return True

    def power_changed(self, xname: str, state: str) -> None:
        if xname not in self._table:
            return
        if state == "on":
            self.begin(xname, "power")
        elif self.stage(xname) != OFF:
            self._enter(xname, OFF, "power")

    def begin(self, node: str, cause: str) -> None:
        """Starts a boot; a boot or shutdown in progress is abandoned."""
        self._table[node] = {**self._table[node], "boots": self._table[node]["boots"] + 1}
        self._enter(node, POST, cause)

    def _enter(self, node: str, stage: str, cause: str) -> None:
        previous = self._table[node]
        self._table[node] = {**previous, "stage": stage}
        self._context.log.add("boot-stage", node, cause, stage=stage)
        self._context.notify("stage", node, stage)
        if UP in (stage, previous["stage"]):
            self._context.notify("beat", node, "started" if stage == UP else "stopped")
        if stage in _SPANS:
            self._begin_stage(node, stage)

    def _begin_stage(self, node: str, stage: str) -> None:
        if stage == PXE and not self.tftp_answers():
            self._wait(node, PXE, timings.TFTP_AGAIN, has_ipxe=False)
        else:
            self._wait(node, stage, self._context.chance(_SPANS[stage], stage, node, self._table[node]["boots"]))

    def _wait(self, node: str, stage: str, seconds: float, *, has_ipxe: bool = True) -> None:
        self._context.scheduler.after(seconds, "boot.end-stage", node, stage, self._table[node]["boots"], has_ipxe)

    def _end_stage(self, node: str, stage: str, boots: int, has_ipxe: bool = True) -> None:
        """Begins the next stage, unless the node was switched off or rebooted since this stage began."""
        record = self._table[node]
        if record["stage"] != stage or record["boots"] != boots:
            return
        faults = self._context.faults
        if faults.trigger("boot-hangs", node, when=lambda fault: fault.facts.get("stage", KERNEL) == stage):
            self._enter(node, HUNG, f"fault boot-hangs at {stage}")
        elif not has_ipxe:
            self._context.notify("stage", node, PXE)
            self._begin_stage(node, PXE)
        elif stage == PXE and not self._load(node):
            self._wait(node, PXE, timings.PXE_AGAIN)
        else:
            self._enter(node, _NEXT[stage], "boot")

    def _load(self, node: str) -> bool:
        """Takes kernel and parameters from the boot script; returns False if it names no kernel."""
        match = _KERNEL.search(self.boot_script(node) or "")
        if match is None:
            return False
        parameters = _OR_ELSE.split(match[2], 1)[0].rstrip(" ")
        self._table[node] = {**self._table[node], "kernel": match[1], "parameters": parameters}
        return True
