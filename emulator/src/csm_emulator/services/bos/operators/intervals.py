"""When operators look: every so many seconds, each at its own beat of a common grid, and only when there is work.

A look that would find nothing is left out, so that results are the same as if they looked always.
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

log = logging.getLogger("csm_emulator.bos")
SHORTEST = 1.0
"""Seconds between two looks of operators that are told not to wait at all."""


class Operator(Protocol):
    name: ClassVar[str]
    frequency: ClassVar[str]
    """The option that says how often it looks."""

    def due(self) -> float | None:
        """From when on there is something for it to do; None when there is nothing."""
        ...

    def run(self) -> None:
        """One look. Raises ``Failure`` when it had to break off."""
        ...


class Rhythm:
    def __init__(self, bos: Bos, operators: Sequence[Operator]) -> None:
        self._bos = bos
        self._operators: Mapping[str, Operator] = {operator.name: operator for operator in operators}
        self._beats = {operator.name: place / len(operators) for place, operator in enumerate(operators)}
        self._next = bos.context.tables.open("bos.rhythm")
        """When each of them looks next."""
        bos.context.scheduler.register("bos.look", self._look)

    def stir(self) -> None:
        """Something was changed: who has work now, and had none, looks at its next beat."""
        for name, operator in self._operators.items():
            if name not in self._next:
                self._plan(name, operator)

    def plan_anew(self) -> None:
        """How often they look may have changed, or how long they wait."""
        for name in list(self._next):
            del self._next[name]
        self.stir()

    def _plan(self, name: str, operator: Operator) -> None:
        due = operator.due()
        if due is None:
            return
        moment = self._beat_after(name, operator, max(due, self._bos.now))
        self._next[name] = moment
        self._bos.context.scheduler.at(moment, "bos.look", name, moment)

    def _beat_after(self, name: str, operator: Operator, moment: float) -> float:
        interval = max(float(self._bos.options.number(operator.frequency)), SHORTEST)
        shift = interval * self._beats[name]
        return next_tick(moment, interval, shift)

    def _look(self, name: str, moment: float) -> None:
        if self._next.get(name) != moment:
            return
        del self._next[name]
        try:
            # Operators work through the API: while it is away, they do nothing.
            context = self._bos.context
            if not context.faults.present("service-restart", "bos") and context.cluster.runs(bos_operator(name)):
                self._operators[name].run()
        except (Failure, NoSuchComponent) as error:
            log.info("BOS's %s broke off: %s", name, error)
        finally:
            self.stir()
