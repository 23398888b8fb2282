"""The operator checks its jobs every 30 s; the status of sessions changes only then."""

from __future__ import annotations

from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.services.cfs.jobs.job_context import JobContext, Run
from csm_emulator.services.cfs.timestamps import start_time
from csm_emulator.state.clock import next_tick

INTERVAL = 30.0
_CHECK = "cfs.operator-looks"


class JobMonitor:
    """Updates sessions from their jobs; scheduled only while there are unfinished jobs."""

    def __init__(self, job_context: JobContext) -> None:
        self._job_context = job_context
        self._open = {run["name"] for run in job_context.all() if run["seen"] != "complete"}
        self._scheduled = bool(self._open)
        job_context.context.scheduler.register(_CHECK, self._check)

    def add(self, run: Run) -> None:
        self._open.add(run["name"])
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._job_context.context.scheduler.at(next_tick(self._job_context.context.clock.now(), INTERVAL), _CHECK)
            self._scheduled = True

    def _check(self) -> None:
        self._scheduled = False
        if not self._job_context.context.cluster.runs(CFS_OPERATOR):
            self._schedule()
            return
        for name in sorted(self._open):
            run = self._job_context.find(name)
            if run is None or not self._is_of_session(run) or self._report(run):
                self._open.discard(name)
        if self._open:
            self._schedule()

    def _is_of_session(self, run: Run) -> bool:
        """Whether the run's session still exists and is not another one of the same name."""
        session = self._job_context.records.session(run["name"])
        return session is not None and session["status"]["session"].get("job") == run["job"]

    def _report(self, run: Run) -> bool:
        """Update the session; return whether the run is over."""
        change = self._job_context.records.change_session
        if run["lost"]:
            self._job_context.put(run, seen="complete")
            change(run["name"], status="complete", succeeded="unknown")
            return True
        if run["seen"] == "pending":
            run = self._job_context.put(run, seen="running")
            change(run["name"], status="running")
        if run["ended"] is None:
            return False
        self._job_context.put(run, seen="complete")
        succeeded = "false" if run["code"] else "true"
        completion = start_time(run["ended"])
        change(run["name"], status="complete", succeeded=succeeded, completion_time=completion)
        return True
