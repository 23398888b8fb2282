"""The pods of the management cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from canton.domain.errors import NotFound
from canton.emulator.cluster.logs import Line, Logs
from canton.emulator.cluster.pods import ENDED, RUNNING, Container, Pod, PodEvent, Program, as_data, from_data
from canton.emulator.machine.clock import Clock
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.shelves import Shelves

Watcher = Callable[[PodEvent], None]


class Cluster:
    """Whoever has work for a pod starts it, and says what its containers do; Kubernetes shows it."""

    def __init__(self, shelves: Shelves, clock: Clock, dice: Dice) -> None:
        self._clock = clock
        self._dice = dice
        self._shelf = shelves.open("cluster.pods")
        self._files = shelves.open("cluster.files")
        self._numbers = shelves.open("cluster.numbers")
        self._pods = {key: from_data(value) for key, value in self._shelf.items()}
        self._logs = Logs(shelves, clock)
        self._watchers: list[Watcher] = []
        self.programs: dict[str, Program] = {}

    @property
    def version(self) -> int:
        """Of the last change."""
        return int(self._numbers.get("version", 0))

    def watch(self, watcher: Watcher) -> None:
        """Be told of every event, in order."""
        self._watchers.append(watcher)

    def pod(self, namespace: str, name: str) -> Pod | None:
        return self._pods.get(f"{namespace}/{name}")

    def pods(self, namespace: str | None = None) -> Iterator[Pod]:
        for pod in self._pods.values():
            if namespace in (None, pod.namespace):
                yield pod

    def start_pod(  # noqa: PLR0913 (a pod has so many sides, and each caller names the ones it knows)
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
    ) -> Pod:
        """Its containers wait until ``begin``. The name must be free."""
        if f"{namespace}/{name}" in self._pods:
            raise ValueError(f"pod {namespace}/{name} is there already")
        uid = self._dice.uuid("pod", namespace, name, self.version)
        pod = Pod(
            namespace,
            name,
            uid,
            self._clock.now(),
            tuple(containers),
            dict(labels or {}),
            dict(annotations or {}),
            owner,
            program,
            node,
        )
        return self._put("added", pod)

    def begin(self, namespace: str, name: str, container: str) -> None:
        self._change(namespace, name, container, state=RUNNING, began=self._clock.now(), ended=None, code=None)

    def end(self, namespace: str, name: str, container: str, code: int) -> None:
        """What it was going to say after now is not said."""
        self._logs.cut(_log(namespace, name, container))
        self._change(namespace, name, container, state=ENDED, ended=self._clock.now(), code=code)

    def restart(self, namespace: str, name: str, container: str) -> None:
        """It begins anew, and counts."""
        found = self._found(namespace, name).container(container)
        times = found.restarts + 1 if found else 1
        self._change(
            namespace, name, container, state=RUNNING, began=self._clock.now(), ended=None, code=None, restarts=times
        )

    def _change(self, namespace: str, name: str, container: str, **fields: object) -> None:
        pod = self._found(namespace, name)
        if pod.container(container) is None:
            raise NotFound(f"no container {container} in pod {namespace}/{name}")
        changed = tuple(
            replace(one, **fields) if one.name == container else one  # type: ignore[arg-type]
            for one in pod.containers
        )
        self._put("changed", replace(pod, containers=changed))

    def relabel(self, namespace: str, name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> None:
        pod = self._found(namespace, name)
        self._put("changed", replace(pod, labels=dict(labels), annotations=dict(annotations)))

    def delete_pod(self, namespace: str, name: str) -> None:
        """It is gone, with its logs and its files."""
        pod = self._found(namespace, name)
        key = f"{namespace}/{name}"
        del self._pods[key], self._shelf[key]
        self._files.pop(key, None)
        for container in pod.containers:
            self._logs.forget(_log(namespace, name, container.name))
        self._tell("deleted", replace(pod, version=self._next_version()))

    def say(self, namespace: str, name: str, container: str, lines: Iterable[str | Line]) -> None:
        """Lines, or lines with their moments, which may be in the future."""
        self._found(namespace, name)
        self._logs.say(_log(namespace, name, container), lines)

    def log(self, namespace: str, name: str, container: str, after: int = 0) -> list[Line]:
        """What was said by now, after so many lines."""
        return self._logs.lines(_log(namespace, name, container), after)[0]

    def follow(
        self, namespace: str, name: str, container: str, after: int, most: int | None = None
    ) -> tuple[list[Line], int]:
        """The same, at most so many, and the position to go on from."""
        return self._logs.lines(_log(namespace, name, container), after, most)

    def touch(self, namespace: str, name: str, container: str, path: str, content: str = "") -> None:
        """Write a file in a container."""
        pod = self._found(namespace, name)
        key = f"{namespace}/{name}"
        self._files[key] = {**self._files.get(key, {}), f"{container}:{path}": content}
        self._tell("file", pod, f"{container}:{path}")

    def read(self, namespace: str, name: str, container: str, path: str) -> str | None:
        found: str | None = self._files.get(f"{namespace}/{name}", {}).get(f"{container}:{path}")
        return found

    def _found(self, namespace: str, name: str) -> Pod:
        pod = self.pod(namespace, name)
        if pod is None:
            raise NotFound(f"no pod {namespace}/{name}")
        return pod

    def _put(self, kind: str, pod: Pod) -> Pod:
        pod = replace(pod, version=self._next_version())
        key = f"{pod.namespace}/{pod.name}"
        self._pods[key] = pod
        self._shelf[key] = as_data(pod)
        self._tell(kind, pod)
        return pod

    def _next_version(self) -> int:
        self._numbers["version"] = self.version + 1
        return self.version

    def _tell(self, kind: str, pod: Pod, what: str = "") -> None:
        for watcher in self._watchers:
            watcher(PodEvent(kind, pod, what))


def _log(namespace: str, name: str, container: str) -> str:
    return f"{namespace}/{name}/{container}"
