"""What every container of a session's job works with: its record, its pod, and what comes next.

A record is plain data on a table and the next step is an entry of the agenda, so that a run goes on after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.context import Context
from csm_emulator.services.cfs.records import Book

Run = dict[str, Any]
"""``name`` of the session, ``job``, ``pod``, ``began``, ``ended``, ``code``, ``layers``, ``target``, and what the
containers leave for one another."""
NAMESPACE = "services"
_STEP = "cfs.run-goes-on"


class Bench:
    def __init__(self, context: Context, book: Book) -> None:
        self.context = context
        self.book = book
        self._table = context.tables.open("cfs.runs")
        self._of_pods = {run["pod"]: name for name, run in self._table.items()}
        self._steps: dict[str, Callable[..., None]] = {}
        context.scheduler.register(_STEP, self._goes_on)

    def answer(self, step: str, action: Callable[..., None]) -> None:
        """``action(run, *args)`` is what is done at this step."""
        self._steps[step] = action

    def next(self, run: Run, seconds: float, step: str, *args: Any) -> None:
        self.context.scheduler.after(seconds, _STEP, run["name"], run["job"], step, *args)

    def _goes_on(self, name: str, job: str, step: str, *args: Any) -> None:
        """Unless the run is over, or another, by the time."""
        run = self.find(name)
        if run is None or run["job"] != job or run["ended"] is not None or run["lost"]:
            return
        self._steps[step](run, *args)

    def find(self, name: str) -> Run | None:
        found: Run | None = self._table.get(name)
        return found

    def of_pod(self, pod: Pod) -> Run | None:
        """Whose pod it is."""
        return self.find(self._of_pods.get(pod.name, "")) if pod.namespace == NAMESPACE else None

    def all(self) -> Iterator[Run]:
        return iter(self._table.values())

    def put(self, run: Run, **changes: Any) -> Run:
        changed = {**run, **changes}
        self._table[run["name"]] = changed
        self._of_pods[run["pod"]] = run["name"]
        return changed

    def forget(self, run: Run) -> None:
        self._table.pop(run["name"], None)
        self._of_pods.pop(run["pod"], None)

    def chance(self, low: float, high: float, *about: object) -> float:
        return self.context.random.between(low, high, "cfs.run", *about)

    def begin(self, run: Run, *containers: str) -> None:
        for container in containers:
            self.context.cluster.begin(NAMESPACE, run["pod"], container)

    def end(self, run: Run, container: str, code: int) -> None:
        self.context.cluster.end(NAMESPACE, run["pod"], container, code)

    def is_running(self, run: Run, container: str) -> bool:
        pod = self.context.cluster.pod(NAMESPACE, run["pod"])
        found = pod.container(container) if pod else None
        return found is not None and found.state == RUNNING

    def say(self, run: Run, container: str, lines: Iterable[str | tuple[float, str]]) -> None:
        self.context.cluster.write_log(NAMESPACE, run["pod"], container, lines)

    def finish(self, run: Run, code: int) -> None:
        """The last container has ended; the proxy beside them goes too."""
        pod = self.context.cluster.pod(NAMESPACE, run["pod"])
        for container in pod.containers if pod else ():
            if container.state == RUNNING:
                self.end(run, container.name, 0)
        self.put(run, ended=self.context.clock.now(), code=code, inventory=None, course=None)
