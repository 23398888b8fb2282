"""Completed sessions go when they are older than ``session_ttl``: cfs-operator looks every five minutes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, timedelta

from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.dialects.python_times import span, without_zone
from csm_emulator.services.cfs.components.changes import Stumble
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.sessions.actions import SessionActions
from csm_emulator.services.cfs.sessions.filters import SessionFilter, begun
from csm_emulator.state.clock import next_tick

_EVERY = 300
_LOOK = "cfs.cleanup"


class Cleanup:
    """Looks at the first such moment at which there is something to find."""

    def __init__(self, context: Context, options: Options, actions: SessionActions) -> None:
        self._context = context
        self._options = options
        self._actions = actions
        self._table = context.tables.open("cfs.cleanup")
        context.scheduler.register(_LOOK, self._look)
        actions.table.when_complete = self._arm_for
        options.watchers.append(self._arm)

    def _look(self) -> None:
        now = self._context.clock.now()
        if self._table.get("next") != now:
            return
        del self._table["next"]
        ttl = self._ttl()
        answers = self._context.faults.present("service-restart", "cfs") is None
        if ttl is not None and answers and self._context.cluster.runs(CFS_OPERATOR):
            with suppress(Stumble, OverflowError):
                self._actions.delete_matching(SessionFilter(youngest=without_zone(now) - ttl, status="complete"))
        self._arm()

    def _arm(self) -> None:
        for session in self._actions.table.all():
            if session["status"]["session"].get("status") == "complete":
                self._arm_for(session["name"])

    def _arm_for(self, name: str) -> None:
        ttl = self._ttl()
        if ttl is None:
            return
        try:
            start = begun(self._actions.get(name)["status"]["session"]).replace(tzinfo=UTC).timestamp()
        except Stumble:
            return
        moment = next_tick(max(start + ttl.total_seconds(), self._context.clock.now()), _EVERY)
        if moment < self._table.get("next", float("inf")):
            self._table["next"] = moment
            self._context.scheduler.at(moment, _LOOK)

    def _ttl(self) -> timedelta | None:
        text = self._options.text("session_ttl")
        try:
            return span(text) if text else None
        except OverflowError:
            return None
