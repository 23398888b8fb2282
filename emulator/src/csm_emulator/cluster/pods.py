"""Pods and containers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from csm_emulator.records import Json, Record

WAITING, RUNNING, ENDED = "waiting", "running", "ended"


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod, and its state."""

    name: str
    image: str = ""
    init: bool = False
    state: str = WAITING
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    """Exit code."""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Pod:
    namespace: str
    name: str
    uid: str
    made: float
    containers: tuple[Container, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner: tuple[str, str] | None = None
    """Kind and name: ("Job", "cfs-…"), ("StatefulSet", "cray-console-node")."""
    program: str = ""
    """The name in ``Cluster.programs`` of the program that `exec` runs."""
    node: str = ""
    """The alias of the management node on which it runs."""
    version: int = 0
    """The number of its last change, counted over all pods."""

    def container(self, name: str) -> Container | None:
        return next((one for one in self.containers if one.name == name), None)

    @property
    def phase(self) -> str:
        """The phase, derived from its containers as in Kubernetes."""
        if any(one.init and one.code for one in self.containers):
            return "Failed"
        main = [one for one in self.containers if not one.init]
        if all(one.state == ENDED for one in main):
            return "Failed" if any(one.code for one in main) else "Succeeded"
        return "Running" if any(one.state != WAITING for one in main) else "Pending"


@dataclass(frozen=True, slots=True)
class PodEvent:
    """``added``, ``changed``; ``deleted``, with ``what`` "job" if its Job is deleted too; ``job-deleted``, with the
    last pod of the Job; ``file``, when a file was written in a container, with ``what`` "CONTAINER:PATH".
    """

    kind: str
    pod: Pod
    what: str = ""


@dataclass(slots=True)
class Exec:
    """A run of a program in a container by `exec`."""

    pod: Pod
    container: str
    argv: list[str]
    tty: bool
    read: Callable[[], Awaitable[bytes]]
    """Reads the next input; empty at the end."""
    write: Callable[[bytes], Awaitable[None]]
    write_error: Callable[[bytes], Awaitable[None]]
    size: tuple[int, int] = (80, 24)
    """Columns and rows of the terminal, updated when it is resized."""


Program = Callable[[Exec], Awaitable[int]]
"""Runs until its end and returns the exit code."""
Volume = Callable[[Pod, str], Mapping[str, str | Callable[[], str]]]
"""Returns the files in a container that its service provides, by path, as texts or functions that return them."""


def as_data(pod: Pod) -> Record:
    """The pod as plain data, for a record table."""
    data = {name: getattr(pod, name) for name in Pod.__slots__ if name not in ("containers", "labels", "annotations")}
    containers = [{name: getattr(one, name) for name in Container.__slots__} for one in pod.containers]
    data |= {"labels": dict(pod.labels), "annotations": dict(pod.annotations), "containers": containers}
    return {**data, "owner": list(pod.owner) if pod.owner else None}


def from_data(data: Mapping[str, Json]) -> Pod:
    containers = tuple(Container(**one) for one in data["containers"])
    owner = tuple(data["owner"]) if data["owner"] else None
    return Pod(**{**data, "containers": containers, "owner": owner})
