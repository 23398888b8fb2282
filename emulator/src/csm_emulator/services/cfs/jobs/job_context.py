"""What all containers of a session's job share: the run's record, its pod and its next steps.

A record is plain data in a table and the next step is an entry of the scheduler, so a run continues after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.context import Context
from csm_emulator.records import Record
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.state.tables import RecordTable

Run = dict[str, Any]
"""The record of a session's run: ``name`` of the session, ``job``, ``pod``, ``began``, ``ended``, ``code``, ``layers``,
``target``, and data that one container leaves for the next."""
NAMESPACE = "services"
_STEP = "cfs.run-step"


class JobContext:
    def __init__(self, context: Context, records: CfsRecords) -> None:
        self.context = context
        self.records = records
        self._table: RecordTable[Record] = context.tables.open("cfs.runs")
        self._runs_by_pod = {run["pod"]: name for name, run in self._table.items()}
        self._steps: dict[str, Callable[..., None]] = {}
        context.scheduler.register(_STEP, self._run_step)

    def on_step(self, step: str, action: Callable[..., None]) -> None:
        """Register ``action(run, *args)`` as the handler of this step."""
        self._steps[step] = action

    def schedule(self, run: Run, seconds: float, step: str, *args: Any) -> None:
        self.context.scheduler.after(seconds, _STEP, run["name"], run["job"], step, *args)

    def _run_step(self, name: str, job: str, step: str, *args: Any) -> None:
        """Run the step, unless the run is over by now or the session has another job."""
        run = self.find(name)
        if run is None or run["job"] != job or run["ended"] is not None or run["lost"]:
            return
        self._steps[step](run, *args)

    def find(self, name: str) -> Run | None:
        run: Run | None = self._table.get(name)
        return run

    def run_of_pod(self, pod: Pod) -> Run | None:
        """The run that the pod belongs to."""
        return self.find(self._runs_by_pod.get(pod.name, "")) if pod.namespace == NAMESPACE else None

    def all(self) -> Iterator[Run]:
        return iter(self._table.values())

    def put(self, run: Run, **changes: Any) -> Run:
        changed = {**run, **changes}
        self._table[run["name"]] = changed
        self._runs_by_pod[run["pod"]] = run["name"]
        return changed

    def forget(self, run: Run) -> None:
        self._table.pop(run["name"], None)
        self._runs_by_pod.pop(run["pod"], None)

    def random_seconds(self, low: float, high: float, *purpose: object) -> float:
        return self.context.random.between(low, high, "cfs.run", *purpose)

    def begin(self, run: Run, *containers: str) -> None:
        for container in containers:
            self.context.cluster.begin(NAMESPACE, run["pod"], container)

    def end(self, run: Run, container: str, code: int) -> None:
        self.context.cluster.end(NAMESPACE, run["pod"], container, code)

    def is_running(self, run: Run, container: str) -> bool:
        pod = self.context.cluster.pod(NAMESPACE, run["pod"])
        state = pod.container(container) if pod else None
        return state is not None and state.state == RUNNING

    def say(self, run: Run, container: str, lines: Iterable[str | tuple[float, str]]) -> None:
        self.context.cluster.write_log(NAMESPACE, run["pod"], container, lines)

    def finish(self, run: Run, code: int) -> None:
        """End the run after its last container; the proxy container ends too."""
        pod = self.context.cluster.pod(NAMESPACE, run["pod"])
        for container in pod.containers if pod else ():
            if container.state == RUNNING:
                self.end(run, container.name, 0)
        self.put(run, ended=self.context.clock.now(), code=code, inventory=None, course=None)
