"""What a pod is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

WAITING, RUNNING, ENDED = "waiting", "running", "ended"


@dataclass(frozen=True, slots=True)
class Container:
    """One of a pod, and how far it is."""

    name: str
    image: str = ""
    init: bool = False
    state: str = WAITING
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    """What it came back with."""
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
    """What `exec` runs in it, by the name in ``Cluster.programs``."""
    node: str = ""
    """Where it runs, by the alias of a management node."""
    version: int = 0
    """Goes up with every change of any pod."""

    def container(self, name: str) -> Container | None:
        return next((one for one in self.containers if one.name == name), None)

    @property
    def phase(self) -> str:
        """As Kubernetes puts it together."""
        if any(one.init and one.code for one in self.containers):
            return "Failed"
        main = [one for one in self.containers if not one.init]
        if all(one.state == ENDED for one in main):
            return "Failed" if any(one.code for one in main) else "Succeeded"
        return "Running" if any(one.state != WAITING for one in main) else "Pending"


@dataclass(frozen=True, slots=True)
class PodEvent:
    """``added``, ``changed``, ``deleted``, and ``what`` is "job" when it goes with its Job; ``job-deleted``, and this
    was its last pod; ``file``: something was written in a container, and ``what`` says where (container and path, with
    a colon between).
    """

    kind: str
    pod: Pod
    what: str = ""


@dataclass(slots=True)
class Exec:
    """A program that somebody runs in a container."""

    pod: Pod
    container: str
    argv: list[str]
    tty: bool
    read: Callable[[], Awaitable[bytes]]
    """What is typed; empty at the end."""
    write: Callable[[bytes], Awaitable[None]]
    write_error: Callable[[bytes], Awaitable[None]]
    size: tuple[int, int] = (80, 24)
    """Columns and rows of the terminal; follows it."""


Program = Callable[[Exec], Awaitable[int]]
"""Comes back with its exit code."""
Volume = Callable[[Pod, str], Mapping[str, str | Callable[[], str]]]
"""The files that a container of a pod has from its owner, by path; a text may be made when it is read."""


def as_data(pod: Pod) -> dict[str, Any]:
    """For a shelf."""
    data = {name: getattr(pod, name) for name in Pod.__slots__ if name not in ("containers", "labels", "annotations")}
    containers = [{name: getattr(one, name) for name in Container.__slots__} for one in pod.containers]
    data |= {"labels": dict(pod.labels), "annotations": dict(pod.annotations), "containers": containers}
    return {**data, "owner": list(pod.owner) if pod.owner else None}


def from_data(data: Mapping[str, Any]) -> Pod:
    containers = tuple(Container(**one) for one in data["containers"])
    owner = tuple(data["owner"]) if data["owner"] else None
    return Pod(**{**data, "containers": containers, "owner": owner})
