"""When operators run: at fixed intervals, each with its own offset, and only when they have work.

Runs that would do nothing are skipped; the results are the same as if operators ran at every interval.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from csm_emulator.cluster.service_workloads import bos_operator
from csm_emulator.services.bos.components.table import NoSuchComponent
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

log = logging.getLogger("csm_emulator.bos")
SHORTEST_INTERVAL = 1.0
"""Seconds between two runs of an operator whose interval is set to 0."""


class Operator(Protocol):
    name: ClassVar[str]
    frequency: ClassVar[str]
    """The BOS option that holds the operator's interval in seconds."""

    def due(self) -> float | None:
        """The time from which the operator has work; None when it has none."""
        ...

    def run(self) -> None:
        """Run once; raises ``Failure`` when the run stops early."""
        ...


class OperatorSchedule:
    def __init__(self, bos: Bos, operators: Sequence[Operator]) -> None:
        self._bos = bos
        self._operators: Mapping[str, Operator] = {operator.name: operator for operator in operators}
        self._offsets = {operator.name: index / len(operators) for index, operator in enumerate(operators)}
        self._next_runs: RecordTable[float] = bos.context.tables.open("bos.rhythm")
        """The time of each operator's next run."""
        bos.context.scheduler.register("bos.look", self._run_operator)

    def schedule_new_work(self) -> None:
        """After a change: schedule every operator that has work and is not scheduled yet."""
        for name, operator in self._operators.items():
            if name not in self._next_runs:
                self._schedule(name, operator)

    def reschedule_all(self) -> None:
        """After a change of options: schedule all operators again, since intervals and waiting times may differ."""
        for name in list(self._next_runs):
            del self._next_runs[name]
        self.schedule_new_work()

    def _schedule(self, name: str, operator: Operator) -> None:
        due = operator.due()
        if due is None:
            return
        moment = self._next_run_after(name, operator, max(due, self._bos.now))
        self._next_runs[name] = moment
        self._bos.context.scheduler.at(moment, "bos.look", name, moment)

    def _next_run_after(self, name: str, operator: Operator, moment: float) -> float:
        interval = max(float(self._bos.options.number(operator.frequency)), SHORTEST_INTERVAL)
        offset = interval * self._offsets[name]
        return next_tick(moment, interval, offset)

    def _run_operator(self, name: str, moment: float) -> None:
        if self._next_runs.get(name) != moment:
            return
        del self._next_runs[name]
        try:
            # Operators work through the API: while it is down, they do nothing.
            context = self._bos.context
            if not context.faults.present("service-restart", "bos") and context.cluster.runs(bos_operator(name)):
                self._operators[name].run()
        except (Failure, NoSuchComponent) as error:
            log.info("BOS's %s broke off: %s", name, error)
        finally:
            self.schedule_new_work()
