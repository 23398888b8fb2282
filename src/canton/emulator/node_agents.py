"""What nodes do by themselves once they are up: they tell BOS with what they run, and CFS that they are bare."""

from __future__ import annotations

import re
from urllib.parse import quote

from canton.emulator.machine.boot import UP
from canton.emulator.machine.means import Event
from canton.emulator.world import World

PART_OF_TTL = 0.75
"""bos-reporter comes again before BOS ceases to believe it."""
TTL = 4 * 3600.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TTL = re.compile(r"(?:^| )bos_update_frequency=([1-9][0-9]{0,5})([smhd])(?= |$)")
_TOKEN = re.compile(r"(?:^| )bss_referral_token=(\S+)")


class NodeAgents:
    """bos-reporter and cfs-state-reporter. A node without a token in its kernel's parameters has neither."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.agenda.answer("node.reports", self._report_again)
        world.machine.watch(self._saw)

    def _saw(self, event: Event) -> None:
        if event.kind == "stage" and event.value == UP and self._report(event.xname):
            path = f"/v3/components/{quote(event.xname)}"
            self._world.mesh.ask("cfs", "PATCH", path, {"state": [], "enabled": True})

    def _report(self, node: str) -> bool:
        """Whether there is a reporter on it; it comes again."""
        record = self._world.machine.boot.record(node)
        found = _TOKEN.search(record["parameters"])
        if found is None:
            return False
        body = {"id": node, "actual_state": {"bss_token": found[1]}}
        self._world.mesh.ask("bos", "PATCH", f"/v2/components/{quote(node)}", body)
        self._world.agenda.after(PART_OF_TTL * _ttl(record["parameters"]), "node.reports", node, record["boots"])
        return True

    def _report_again(self, node: str, boots: int) -> None:
        record = self._world.machine.boot.record(node)
        if record["stage"] == UP and record["boots"] == boots:
            self._report(node)


def _ttl(parameters: str) -> float:
    """What BOS wrote into the kernel's parameters when it booted the node."""
    found = _TTL.search(parameters)
    return int(found[1]) * _UNITS[found[2]] if found else TTL
