"""A console pod that goes away for a while, and drops its connections."""

from __future__ import annotations

from csm_emulator.cluster.pods import RUNNING
from csm_emulator.context import Context
from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.faults.faults import ALL_TARGETS, Fault, names_in
from csm_emulator.services.console_operator.assignments import CONTAINER, NAMESPACE, Monitoring

AWAY = 30.0
KILLED = 137


class Restarts:
    def __init__(self, context: Context, monitoring: Monitoring) -> None:
        self._context = context
        self._monitoring = monitoring
        context.faults.register("console-restart", self._restart)
        context.scheduler.register("console.back", self._back)

    def _restart(self, fault: Fault) -> None:
        there = {pod.name for pod in self._monitoring.pods()}
        named = names_in(fault)
        pods = there if ALL_TARGETS in named else named
        unknown = sorted(pods - there)
        if unknown:
            raise InvalidMachine(f"no console pod {unknown[0]}; there are {', '.join(sorted(there))}")
        for name in sorted(pods):
            self._context.cluster.end(NAMESPACE, name, CONTAINER, KILLED)
            self._context.scheduler.after(float(fault.facts.get("seconds", AWAY)), "console.back", name, fault.id)

    def _back(self, name: str, fault_id: str = "") -> None:
        self._context.faults.finish(fault_id)
        pod = self._context.cluster.pod(NAMESPACE, name)
        container = pod.container(CONTAINER) if pod else None
        if container is not None and container.state != RUNNING:
            self._context.cluster.restart(NAMESPACE, name, CONTAINER)
