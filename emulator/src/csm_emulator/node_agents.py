"""The agents on booted nodes: they report to BOS which image runs, and to CFS that nothing is configured yet."""

from __future__ import annotations

import re
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.machine.boot import UP
from csm_emulator.machine.context import Event
from csm_emulator.records import Json

REPORT_FRACTION = 0.75
"""bos-reporter repeats its report after this fraction of the time for which BOS considers it valid."""
TTL = 4 * 3600.0
BACKOFF_STEP, BACKOFF_LIMIT = 2.0, 30.0
"""Linear back-off of a report that failed: 2 s per attempt, at most 30 s, no limit on attempts."""
_TO_BOS, _TO_CFS = "node.reports", "node.is-bare"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_TTL = re.compile(r"(?:^| )bos_update_frequency=([1-9][0-9]{0,5})([smhdw])(?= |$)")
_TOKEN = re.compile(r"(?:^| )bss_referral_token=(\S+)")


class NodeAgents:
    """bos-reporter and cfs-state-reporter. They run on nodes whose kernel parameters have a token."""

    def __init__(self, context: Context) -> None:
        self._context = context
        context.scheduler.register(_TO_BOS, self._report)
        context.scheduler.register(_TO_CFS, self._report_bare)
        context.machine.watch(self._on_event)

    def _on_event(self, event: Event) -> None:
        if event.kind == "stage" and event.value == UP:
            record = self._context.machine.boot.record(event.xname)
            if _TOKEN.search(record["parameters"]):
                self._report(event.xname, record["boots"], False, 0)
                self._report_bare(event.xname, record["boots"], 0)

    def _report(self, node: str, boots: int, is_repeat: bool, attempt: int) -> None:
        """Reports to BOS; ``attempt`` counts the failures before."""
        record = self._still_up(node, boots)
        token = _TOKEN.search(record["parameters"]) if record else None
        if record is None or token is None:
            return
        body = {"id": node, "actual_state": {"bss_token": token[1]}}
        if not self._send("bos", f"/v2/components/{quote(node)}", body):
            self._context.scheduler.after(_backoff(attempt), _TO_BOS, node, boots, is_repeat, attempt + 1)
            return
        # Nodes that booted together report at different times: the first interval is shortened at random.
        fraction = 1.0 if is_repeat else self._context.random.roll("bos-reporter", node, boots)
        interval = REPORT_FRACTION * _ttl(record["parameters"]) * fraction
        self._context.scheduler.after(interval, _TO_BOS, node, boots, True, 0)

    def _report_bare(self, node: str, boots: int, attempt: int) -> None:
        if self._still_up(node, boots) is None:
            return
        if not self._send("cfs", f"/v3/components/{quote(node)}", {"state": [], "enabled": True}):
            self._context.scheduler.after(_backoff(attempt), _TO_CFS, node, boots, attempt + 1)

    def _still_up(self, node: str, boots: int) -> Json:
        record = self._context.machine.boot.record(node)
        return record if record["stage"] == UP and record["boots"] == boots else None

    def _send(self, service: str, path: str, body: Json) -> bool:
        return self._context.mesh.ask(service, "PATCH", path, body).ok


def _backoff(attempt: int) -> float:
    return min(BACKOFF_STEP * (attempt + 1), BACKOFF_LIMIT)


def _ttl(parameters: str) -> float:
    """Seconds for which BOS considers a report valid: it writes them into the kernel parameters."""
    match = _TTL.search(parameters)
    return int(match[1]) * _UNITS[match[2]] if match else TTL
