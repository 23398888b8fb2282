"""``canton emulate``: a pretend supercomputer, and its switches."""

from __future__ import annotations

import click

from canton.cli.lazy import Entry, LazyGroup

START = "start"
COMMANDS = {
    START: Entry("canton.emulator.start:start", "Run a machine; the word may be left out"),
    "status": Entry("canton.emulator.switches:status", "What the machine does now"),
    "fault": Entry("canton.emulator.switches:fault", "Break things, and stop breaking them"),
    "clock": Entry("canton.emulator.switches:clock", "Look at virtual time, change its speed, step it"),
    "probe": Entry("canton.emulator.switches:probe", "Who reaches whom over the high-speed network"),
    "console": Entry("canton.emulator.onlooking:console", "What a node's console shows"),
    "pods": Entry("canton.emulator.onlooking:pods", "What runs in the management cluster"),
    "pod-log": Entry("canton.emulator.onlooking:pod_log", "What a container says: an Ansible run, an image job"),
    "log": Entry("canton.emulator.switches:log", "What really happened, and why"),
    "save": Entry("canton.emulator.switches:save", "Write the whole state to a file"),
    "load": Entry("canton.emulator.switches:load", "Go on from a state that was saved"),
}


class Emulate(LazyGroup):
    """``canton emulate psi`` is ``canton emulate start psi``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.table and args[0] not in ("-h", "--help"):
            args = [START, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=Emulate,
    table=COMMANDS,
    epilog="\b\nExamples:\n  canton emulate psi\n  canton emulate tiny --port 0 --json --services\n"
    "  canton emulate status\n  canton emulate fault set no-power-on x1000c0s0b0n0\n  canton emulate clock speed 100",
)
def emulate() -> None:
    """Run a pretend HPE Cray EX that answers on the wire as the real one does."""
