"""The operator looks at its jobs every half minute; what became of them shows in their sessions no sooner."""

from __future__ import annotations

from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.timestamps import start_time
from csm_emulator.state.clock import next_tick

INTERVAL = 30.0
_LOOK = "cfs.operator-looks"


class Monitor:
    """On the agenda only while there is a job to look at."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._open = {run["name"] for run in bench.all() if run["seen"] != "complete"}
        self._expected = bool(self._open)
        bench.context.scheduler.register(_LOOK, self._look)

    def add(self, run: Run) -> None:
        self._open.add(run["name"])
        self._expect()

    def _expect(self) -> None:
        if not self._expected:
            self._bench.context.scheduler.at(next_tick(self._bench.context.clock.now(), INTERVAL), _LOOK)
            self._expected = True

    def _look(self) -> None:
        self._expected = False
        if not self._bench.context.cluster.runs(CFS_OPERATOR):
            self._expect()
            return
        for name in sorted(self._open):
            run = self._bench.find(name)
            if run is None or not self._is_of_session(run) or self._report(run):
                self._open.discard(name)
        if self._open:
            self._expect()

    def _is_of_session(self, run: Run) -> bool:
        """Whether its session is there, and not another of the same name."""
        session = self._bench.book.session(run["name"])
        return session is not None and session["status"]["session"].get("job") == run["job"]

    def _report(self, run: Run) -> bool:
        """Whether it is over."""
        change = self._bench.book.change_session
        if run["lost"]:
            self._bench.put(run, seen="complete")
            change(run["name"], status="complete", succeeded="unknown")
            return True
        if run["seen"] == "pending":
            run = self._bench.put(run, seen="running")
            change(run["name"], status="running")
        if run["ended"] is None:
            return False
        self._bench.put(run, seen="complete")
        succeeded = "false" if run["code"] else "true"
        completion = start_time(run["ended"])
        change(run["name"], status="complete", succeeded=succeeded, completion_time=completion)
        return True
