"""What nodes do by themselves once they are up: they tell BOS with what they run, and CFS that they are bare."""

from __future__ import annotations

import re
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.machine.boot import UP
from csm_emulator.machine.context import Event
from csm_emulator.records import Json

PART_OF_TTL = 0.75
"""bos-reporter comes again before BOS ceases to believe it."""
TTL = 4 * 3600.0
LONGER, LONGEST = 2.0, 30.0
"""Whoever is not heard tries again, each time so much later, for as long as it takes."""
_TO_BOS, _TO_CFS = "node.reports", "node.is-bare"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_TTL = re.compile(r"(?:^| )bos_update_frequency=([1-9][0-9]{0,5})([smhdw])(?= |$)")
_TOKEN = re.compile(r"(?:^| )bss_referral_token=(\S+)")


class NodeAgents:
    """bos-reporter and cfs-state-reporter. A node without a token in its kernel's parameters has neither."""

    def __init__(self, context: Context) -> None:
        self._context = context
        context.scheduler.answer(_TO_BOS, self._report)
        context.scheduler.answer(_TO_CFS, self._report_bare)
        context.machine.watch(self._saw)

    def _saw(self, event: Event) -> None:
        if event.kind == "stage" and event.value == UP:
            record = self._context.machine.boot.record(event.xname)
            if _TOKEN.search(record["parameters"]):
                self._report(event.xname, record["boots"], False, 0)
                self._report_bare(event.xname, record["boots"], 0)

    def _report(self, node: str, boots: int, again: bool, attempt: int) -> None:
        """To BOS; ``attempt``: how often that was in vain."""
        record = self._still_up(node, boots)
        token = _TOKEN.search(record["parameters"]) if record else None
        if record is None or token is None:
            return
        body = {"id": node, "actual_state": {"bss_token": token[1]}}
        if not self._heard("bos", f"/v2/components/{quote(node)}", body):
            self._context.scheduler.after(_pause(attempt), _TO_BOS, node, boots, again, attempt + 1)
            return
        # So that a machine that was booted at once does not report at once for ever.
        part = 1.0 if again else self._context.random.roll("bos-reporter", node, boots)
        interval = PART_OF_TTL * _ttl(record["parameters"]) * part
        self._context.scheduler.after(interval, _TO_BOS, node, boots, True, 0)

    def _report_bare(self, node: str, boots: int, attempt: int) -> None:
        if self._still_up(node, boots) is None:
            return
        if not self._heard("cfs", f"/v3/components/{quote(node)}", {"state": [], "enabled": True}):
            self._context.scheduler.after(_pause(attempt), _TO_CFS, node, boots, attempt + 1)

    def _still_up(self, node: str, boots: int) -> Json:
        record = self._context.machine.boot.record(node)
        return record if record["stage"] == UP and record["boots"] == boots else None

    def _heard(self, service: str, path: str, body: Json) -> bool:
        return self._context.mesh.ask(service, "PATCH", path, body).ok


def _pause(attempt: int) -> float:
    return min(LONGER * (attempt + 1), LONGEST)


def _ttl(parameters: str) -> float:
    """What BOS wrote into the kernel's parameters when it booted the node."""
    found = _TTL.search(parameters)
    return int(found[1]) * _UNITS[found[2]] if found else TTL
