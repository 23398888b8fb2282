"""What all containers of a session's job share: the run's record, its pod and its next steps.

A record is plain data in a table and the next step is an entry of the scheduler, so a run continues after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NotRequired, TypedDict, Unpack

from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.state.tables import RecordTable

NAMESPACE = "services"
_STEP = "cfs.run-step"


class Course(TypedDict):
    """The state of the layer that Ansible applies; times are in seconds after ``began``."""

    place: int
    """The index of the layer."""
    began: float
    said: int
    """Entries of the timeline that are in the log."""
    fell: dict[str, float]
    """Hosts that are down, and since when."""
    faulty: dict[str, str]
    """Hosts on which a fault makes a task fail, and a part of that task's name."""
    settled: list[str]
    """Hosts to which the layer was applied before."""


class Connection(TypedDict):
    """A container that is ready for Ansible."""

    host: str
    port: int
    pod: str
    """The name of the Kubernetes job of its pod."""


class ImageJob(TypedDict):
    """The IMS job that customizes an image."""

    job: str
    name: str
    """Of the resulting image."""
    arch: str
    host: NotRequired[str]
    """With ``port`` and ``pod``, the fields of its ``Connection``."""
    port: NotRequired[int]
    pod: NotRequired[str]
    ended: NotRequired[str]
    """``result`` or ``error``."""


class RunChanges(TypedDict, total=False):
    """The fields of a run that change after its creation."""

    ended: float | None
    code: int | None
    lost: bool
    """Its Kubernetes job was deleted."""
    seen: str
    """The status that the monitor reported last."""
    inventory: Record | None
    """The fields of Ansible's ``Inventory``, once the inventory is generated."""
    generated: list[str]
    """The groups of the inventory that CFS generated."""
    course: Course | None
    images: dict[str, ImageJob]
    """By the id of the image."""
    key: str | None
    """The id of the public key in IMS."""
    commands: list[str]
    applied: list[int]
    """Indexes of the layers that were applied."""


class Run(TypedDict):
    """The record of a session's run, and data that one container leaves for the next."""

    name: str
    """Of the session."""
    job: str
    pod: str
    began: float
    ended: float | None
    code: int | None
    lost: bool
    seen: str
    layers: list[Record]
    hosts: Record | None
    """The repository of additional inventory."""
    target: Record
    ansible: Record
    debug_wait: int
    inventory: Record | None
    generated: list[str]
    course: Course | None
    images: dict[str, ImageJob]
    key: str | None
    commands: list[str]
    applied: list[int]


def course_of(run: Run) -> Course:
    """The state of the layer that Ansible applies; raises ``LookupError`` between two layers."""
    if run["course"] is None:
        raise LookupError(f"session {run['name']} applies no layer")
    return run["course"]


class JobContext:
    def __init__(self, context: Context, records: CfsRecords) -> None:
        self.context = context
        self.records = records
        self._table: RecordTable[Run] = context.tables.open("cfs.runs")
        self._runs_by_pod = {run["pod"]: name for name, run in self._table.items()}
        self._steps: dict[str, Callable[..., None]] = {}
        context.scheduler.register(_STEP, self._run_step)

    def on_step(self, step: str, action: Callable[..., None]) -> None:
        """Register ``action(run, *args)`` as the handler of this step."""
        self._steps[step] = action

    def schedule(self, run: Run, seconds: float, step: str, *args: Json) -> None:
        self.context.scheduler.after(seconds, _STEP, run["name"], run["job"], step, *args)

    def _run_step(self, name: str, job: str, step: str, *args: Json) -> None:
        """Run the step, unless the run is over by now or the session has another job."""
        run = self.find(name)
        if run is None or run["job"] != job or run["ended"] is not None or run["lost"]:
            return
        self._steps[step](run, *args)

    def find(self, name: str) -> Run | None:
        return self._table.get(name)

    def run_of_pod(self, pod: Pod) -> Run | None:
        """The run that the pod belongs to."""
        return self.find(self._runs_by_pod.get(pod.name, "")) if pod.namespace == NAMESPACE else None

    def all(self) -> Iterator[Run]:
        return iter(self._table.values())

    def put(self, run: Run, **changes: Unpack[RunChanges]) -> Run:
        changed: Run = {**run, **changes}
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
