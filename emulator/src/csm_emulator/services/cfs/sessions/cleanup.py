"""Deletion of completed sessions that are older than ``session_ttl``; cfs-operator checks every five minutes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, timedelta

from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.dialects.python_times import span, without_zone
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.sessions.actions import SessionActions
from csm_emulator.services.cfs.sessions.filters import SessionFilter, start_of
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

_INTERVAL = 300
_CLEANUP = "cfs.cleanup"


class Cleanup:
    """Runs at the first five-minute interval at which a session is old enough."""

    def __init__(self, context: Context, options: Options, actions: SessionActions) -> None:
        self._context = context
        self._options = options
        self._actions = actions
        self._table: RecordTable[float] = context.tables.open("cfs.cleanup")
        context.scheduler.register(_CLEANUP, self._clean_up)
        actions.table.when_complete = self._schedule_for
        options.watchers.append(self._schedule)

    def _clean_up(self) -> None:
        now = self._context.clock.now()
        if self._table.get("next") != now:
            return
        del self._table["next"]
        ttl = self._ttl()
        answers = self._context.faults.present("service-restart", "cfs") is None
        if ttl is not None and answers and self._context.cluster.runs(CFS_OPERATOR):
            with suppress(UncaughtError, OverflowError):
                self._actions.delete_matching(SessionFilter(youngest=without_zone(now) - ttl, status="complete"))
        self._schedule()

    def _schedule(self) -> None:
        for session in self._actions.table.all():
            if session["status"]["session"].get("status") == "complete":
                self._schedule_for(session["name"])

    def _schedule_for(self, name: str) -> None:
        ttl = self._ttl()
        if ttl is None:
            return
        try:
            start = start_of(self._actions.get(name)["status"]["session"]).replace(tzinfo=UTC).timestamp()
        except UncaughtError:
            return
        moment = next_tick(max(start + ttl.total_seconds(), self._context.clock.now()), _INTERVAL)
        if moment < self._table.get("next", float("inf")):
            self._table["next"] = moment
            self._context.scheduler.at(moment, _CLEANUP)

    def _ttl(self) -> timedelta | None:
        text = self._options.text("session_ttl")
        try:
            return span(text) if text else None
        except OverflowError:
            return None
