"""The pods of the management cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from csm_emulator.cluster.logs import Line, Logs
from csm_emulator.cluster.pods import (
    ENDED,
    RUNNING,
    Container,
    Pod,
    PodEvent,
    Program,
    Volume,
    as_data,
    from_data,
)
from csm_emulator.errors import NotFound
from csm_emulator.records import Record
from csm_emulator.state.clock import Clock
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.tables import RecordTable, RecordTables

Watcher = Callable[[PodEvent], None]
APP = "app.kubernetes.io/name"
BATCH = "batch.kubernetes.io"
KILLED = 137


class Cluster:
    """Services start pods for their work and set the state of containers; the service kubernetes shows them."""

    def __init__(self, tables: RecordTables, clock: Clock, random: SeededRandom) -> None:
        self._clock = clock
        self._random = random
        self._table: RecordTable[Record] = tables.open("cluster.pods")
        self._files: RecordTable[dict[str, str]] = tables.open("cluster.files")
        self._jobs_without_pods: RecordTable[Record] = tables.open("cluster.bereft-jobs")
        self._numbers: RecordTable[int] = tables.open("cluster.numbers")
        self._pods = {key: from_data(value) for key, value in self._table.items()}
        self._running: dict[tuple[str, str], set[str]] = {}
        for pod in self._pods.values():
            self._count(pod)
        self._logs = Logs(tables, clock)
        self._watchers: list[Watcher] = []
        self.programs: dict[str, Program] = {}
        self.volumes: list[Volume] = []

    @property
    def version(self) -> int:
        """The number of the last change."""
        return int(self._numbers.get("version", 0))

    def watch(self, watcher: Watcher) -> None:
        """Calls the watcher at each event, in order."""
        self._watchers.append(watcher)

    def pod(self, namespace: str, name: str) -> Pod | None:
        return self._pods.get(f"{namespace}/{name}")

    def pods(self, namespace: str | None = None) -> Iterator[Pod]:
        for pod in self._pods.values():
            if namespace in (None, pod.namespace):
                yield pod

    def runs(self, workload: tuple[str, str]) -> bool:
        """Whether a pod of this Deployment or StatefulSet (namespace, name) runs."""
        return bool(self._running.get(workload))

    def _count(self, pod: Pod, *, deleted: bool = False) -> None:
        running = self._running.setdefault((pod.namespace, pod.labels.get(APP, "")), set())
        (running.add if pod.phase == "Running" and not deleted else running.discard)(pod.name)

    def start_pod(  # noqa: PLR0913 (a pod has many fields, and callers pass them by name)
        self,
        namespace: str,
        name: str,
        containers: Sequence[Container],
        labels: Mapping[str, str] | None = None,
        *,
        annotations: Mapping[str, str] | None = None,
        owner: tuple[str, str] | None = None,
        program: str = "",
        node: str = "",
        created: float | None = None,
    ) -> Pod:
        """Adds a pod; its containers wait until ``begin``. The name must be free. ``created`` is now by default."""
        if f"{namespace}/{name}" in self._pods:
            raise ValueError(f"pod {namespace}/{name} is there already")
        uid = self._random.uuid("pod", namespace, name, self.version)
        pod = Pod(
            namespace,
            name,
            uid,
            self._clock.now() if created is None else created,
            tuple(containers),
            {**(labels or {}), **self._labels_of_job(namespace, owner)},
            dict(annotations or {}),
            owner,
            program,
            node,
        )
        return self._put("added", pod)

    def job_uid(self, namespace: str, name: str) -> str:
        return self._random.uuid("kubernetes.job", namespace, name)

    def _labels_of_job(self, namespace: str, owner: tuple[str, str] | None) -> dict[str, str]:
        """The labels by which a Job finds its pods, with and without prefix."""
        if owner is None or owner[0] != "Job":
            return {}
        labels = {"job-name": owner[1], "controller-uid": self.job_uid(namespace, owner[1])}
        return {**labels, **{f"{BATCH}/{key}": value for key, value in labels.items()}}

    def begin(self, namespace: str, name: str, container: str, at: float | None = None) -> None:
        """Marks a container as running, from now or from an earlier moment."""
        began = self._clock.now() if at is None else at
        self._change(namespace, name, container, state=RUNNING, began=began, ended=None, code=None)

    def end(self, namespace: str, name: str, container: str, code: int, at: float | None = None) -> None:
        """Marks a container as ended, now or earlier; its future log lines are dropped."""
        self._logs.cut(_log(namespace, name, container))
        self._change(namespace, name, container, state=ENDED, ended=self._clock.now() if at is None else at, code=code)

    def restart(self, namespace: str, name: str, container: str) -> None:
        """Restarts a container and counts the restart."""
        previous = self._require_pod(namespace, name).container(container)
        times = previous.restarts + 1 if previous else 1
        self._change(
            namespace, name, container, state=RUNNING, began=self._clock.now(), ended=None, code=None, restarts=times
        )

    def _change(self, namespace: str, name: str, container: str, **fields: object) -> None:
        pod = self._require_pod(namespace, name)
        if pod.container(container) is None:
            raise NotFound(f"no container {container} in pod {namespace}/{name}")
        changed = tuple(
            replace(one, **fields) if one.name == container else one  # type: ignore[arg-type]
            for one in pod.containers
        )
        self._put("changed", replace(pod, containers=changed))

    def set_labels(self, namespace: str, name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> None:
        pod = self._require_pod(namespace, name)
        self._put("changed", replace(pod, labels=dict(labels), annotations=dict(annotations)))

    def delete_pod(self, namespace: str, name: str) -> None:
        """Deletes a pod with its logs and files. Its Job stays, without a replacement of the pod."""
        pod = self._require_pod(namespace, name)
        kind, owner = pod.owner or ("", "")
        if kind == "Job":
            pod = _killed(pod, self._clock.now())
            self._jobs_without_pods[f"{namespace}/{owner}"] = as_data(pod)
        self._delete(pod)

    def _delete(self, pod: Pod, what: str = "") -> None:
        key = f"{pod.namespace}/{pod.name}"
        del self._pods[key], self._table[key]
        self._count(pod, deleted=True)
        self._files.pop(key, None)
        for container in pod.containers:
            self._logs.forget(_log(pod.namespace, pod.name, container.name))
        self._tell("deleted", replace(pod, version=self._next_version()), what)

    def jobs_without_pods(self) -> Iterator[Pod]:
        """The last states of deleted pods whose Jobs still exist."""
        return map(from_data, self._jobs_without_pods.values())

    def delete_job(self, namespace: str, name: str) -> None:
        """Deletes a Job with its pods; does nothing if it does not exist."""
        pods = [pod for pod in self.pods(namespace) if pod.owner == ("Job", name)]
        for pod in pods:
            self._delete(pod, "job")
        deleted_pod = self._jobs_without_pods.pop(f"{namespace}/{name}", None)
        last = pods[-1] if pods else from_data(deleted_pod) if deleted_pod else None
        if last is not None:
            self._tell("job-deleted", last)

    def write_log(self, namespace: str, name: str, container: str, lines: Iterable[str | Line]) -> None:
        """Writes lines to a container's log, with or without their moments, which may be in the future."""
        self._require_pod(namespace, name)
        self._logs.append(_log(namespace, name, container), lines)

    def log(self, namespace: str, name: str, container: str, position: int = 0) -> list[Line]:
        """The log lines up to now, without the first ``position`` lines."""
        return self._logs.lines(_log(namespace, name, container), position)[0]

    def follow(
        self, namespace: str, name: str, container: str, position: int, most: int | None = None
    ) -> tuple[list[Line], int]:
        """The same, at most ``most`` lines, and the position for the next call."""
        return self._logs.lines(_log(namespace, name, container), position, most)

    def write_file(self, namespace: str, name: str, container: str, path: str, content: str = "") -> None:
        """Write a file in a container."""
        pod = self._require_pod(namespace, name)
        key = f"{namespace}/{name}"
        self._files[key] = {**self._files.get(key, {}), f"{container}:{path}": content}
        self._tell("file", pod, f"{container}:{path}")

    def read_file(self, namespace: str, name: str, container: str, path: str) -> str | None:
        found: str | None = self._files.get(f"{namespace}/{name}", {}).get(f"{container}:{path}")
        return found

    def paths(self, namespace: str, name: str, container: str) -> list[str]:
        """The paths of the files that were written in a container."""
        start = f"{container}:"
        return [path[len(start) :] for path in self._files.get(f"{namespace}/{name}", {}) if path.startswith(start)]

    def remove_file(self, namespace: str, name: str, container: str, path: str) -> None:
        key = f"{namespace}/{name}"
        self._files[key] = {
            place: text for place, text in self._files.get(key, {}).items() if place != f"{container}:{path}"
        }

    def _require_pod(self, namespace: str, name: str) -> Pod:
        pod = self.pod(namespace, name)
        if pod is None:
            raise NotFound(f"no pod {namespace}/{name}")
        return pod

    def _put(self, kind: str, pod: Pod) -> Pod:
        pod = replace(pod, version=self._next_version())
        key = f"{pod.namespace}/{pod.name}"
        self._pods[key] = pod
        self._table[key] = as_data(pod)
        self._count(pod)
        self._tell(kind, pod)
        return pod

    def _next_version(self) -> int:
        self._numbers["version"] = self.version + 1
        return self.version

    def _tell(self, kind: str, pod: Pod, what: str = "") -> None:
        for watcher in self._watchers:
            watcher(PodEvent(kind, pod, what))


def _killed(pod: Pod, now: float) -> Pod:
    """The pod with its running containers ended by SIGKILL."""
    ended = (one if one.state == ENDED else replace(one, state=ENDED, ended=now, code=KILLED) for one in pod.containers)
    return replace(pod, containers=tuple(ended))


def _log(namespace: str, name: str, container: str) -> str:
    return f"{namespace}/{name}/{container}"
