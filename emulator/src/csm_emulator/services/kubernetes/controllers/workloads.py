"""Deployments and StatefulSets: start and stop pods until ``replicas`` are running, a few seconds after a change."""

from __future__ import annotations

import json
from collections.abc import Iterator

from csm_emulator.cluster.pods import RUNNING, Pod, PodEvent
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.controllers.pod_templates import containers_of
from csm_emulator.services.kubernetes.controllers.replica_sets import ReplicaSets, with_revision
from csm_emulator.services.kubernetes.controllers.workload_status import deployment_status, stateful_status
from csm_emulator.services.kubernetes.kinds.kinds import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, Kind
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.storage.objects import Objects

RECONCILE_AFTER = 1.0
"""Seconds until a controller acts on a change."""
MOST_PODS = 200
"""Pods of one workload; further ones would stay Pending for lack of room."""
PROGRAMS = {"cray-console-operator": "console-operator", "cray-console-node": "console-node"}
"""The program in the pods of a workload, where it is not the default shell."""
DEFAULT_PROGRAM = "shell"
_KINDS = {kind.plural: kind for kind in (DEPLOYMENTS, STATEFUL_SETS)}


class Workloads:
    def __init__(self, objects: Objects, pods: Pods) -> None:
        self._objects = objects
        self._context = objects.context
        self._pods = pods
        self._sets = ReplicaSets(objects)
        self._scheduled: set[tuple[str, str, str]] = set()
        objects.listeners.append(self._changed)
        self._context.scheduler.register("kubernetes.reconcile", self._reconcile)

    def begin(self, *, first_day: bool) -> None:
        """On the first day all pods run already, and no events are recorded for them."""
        if first_day:
            self._start_all()
        self._context.cluster.watch(self._pod_event)

    def _start_all(self) -> None:
        for kind in _KINDS.values():
            for workload in self._objects.list(kind):
                for name in self._pod_names(kind, workload):
                    self._pods.begin_now(self._start(kind, workload, name))
                self._update_status(kind, workload["metadata"]["namespace"], workload["metadata"]["name"])

    def _changed(self, kind: Kind, previous: Json, current: Json) -> None:
        meta = (current or previous)["metadata"]
        if current is None and kind in (REPLICA_SETS, STATEFUL_SETS):
            # The ReplicaSets of a deleted Deployment are deleted too, and so this stops all its pods.
            for pod in self._context.cluster.pods(meta["namespace"]):
                if pod.owner == (kind.kind, meta["name"]):
                    self._pods.stop(pod)
        elif kind not in _KINDS.values() or current is None:
            return
        elif previous is None or _desired_state(previous) != _desired_state(current):
            self._schedule_reconcile(kind, meta["namespace"], meta["name"])

    def _pod_event(self, event: PodEvent) -> None:
        if event.kind not in ("changed", "deleted") or event.pod.owner is None:
            return
        owner, name = event.pod.owner
        if owner == "ReplicaSet":
            self._schedule_reconcile(DEPLOYMENTS, event.pod.namespace, name.rpartition("-")[0])
        elif owner == "StatefulSet":
            self._schedule_reconcile(STATEFUL_SETS, event.pod.namespace, name)

    def _schedule_reconcile(self, kind: Kind, namespace: str, name: str) -> None:
        if (kind.plural, namespace, name) not in self._scheduled:
            self._scheduled.add((kind.plural, namespace, name))
            self._context.scheduler.after(RECONCILE_AFTER, "kubernetes.reconcile", kind.plural, namespace, name)

    def _reconcile(self, plural: str, namespace: str, name: str) -> None:
        self._scheduled.discard((plural, namespace, name))
        kind = _KINDS[plural]
        workload = self._objects.get(kind, namespace, name)
        if workload is None:
            return
        if kind == STATEFUL_SETS:
            self._reconcile_stateful_set(workload)
        else:
            self._reconcile_deployment(workload)
        self._update_status(kind, namespace, name)

    def _reconcile_deployment(self, deployment: Json) -> None:
        """Start new pods first; when they run, stop pods of other templates and surplus pods."""
        meta, replicas = deployment["metadata"], _replicas(deployment)
        pods = [pod for pod in self._pods_of(DEPLOYMENTS, meta["namespace"], meta["name"]) if self._stays(pod)]
        template_hash = self._hash(deployment)
        new = [pod for pod in pods if pod.labels.get("pod-template-hash") == template_hash]
        for _ in range(replicas - len(new)):
            self._pods.begin_soon(self._start(DEPLOYMENTS, deployment, self._free_name(deployment)))
        for pod in new[replicas:]:
            self._pods.stop(pod)
        if sum(_is_running(pod) for pod in new) >= replicas:
            for pod in pods:
                if pod not in new:
                    self._pods.stop(pod)

    def _reconcile_stateful_set(self, stateful_set: Json) -> None:
        """Start pods one after another, each when the previous one runs; stop the highest number first."""
        meta, replicas, template_hash = stateful_set["metadata"], _replicas(stateful_set), self._hash(stateful_set)
        pods = {pod.name: pod for pod in self._pods_of(STATEFUL_SETS, meta["namespace"], meta["name"])}
        extra = [pod for name, pod in pods.items() if _number(name) >= replicas]
        for pod in sorted(extra, key=lambda pod: -_number(pod.name))[:1]:
            self._pods.stop(pod)
        for number in range(replicas):
            existing = pods.get(f"{meta['name']}-{number}")
            if existing is None:
                self._pods.begin_soon(self._start(STATEFUL_SETS, stateful_set, f"{meta['name']}-{number}"))
                return
            if not _is_running(existing) or not self._stays(existing):
                return
        for pod in sorted(pods.values(), key=lambda pod: -_number(pod.name)):
            if pod.labels.get("controller-revision-hash") != f"{meta['name']}-{template_hash}" and pod not in extra:
                self._pods.stop(pod)
                return

    def _stays(self, pod: Pod) -> bool:
        return not self._pods.is_stopping(pod)

    def _pod_names(self, kind: Kind, workload: Json) -> Iterator[str]:
        for number in range(_replicas(workload)):
            yield f"{workload['metadata']['name']}-{number}" if kind == STATEFUL_SETS else self._free_name(workload)

    def _free_name(self, deployment: Json) -> str:
        meta = deployment["metadata"]
        number = self._objects.store.next_version()
        tail = self._context.random.hex(5, "pod name", meta["name"], number)
        return f"{meta['name']}-{self._hash(deployment)}-{tail}"

    def _start(self, kind: Kind, workload: Json, name: str) -> Pod:
        meta, template = workload["metadata"], workload["spec"].get("template") or {}
        template_hash = self._hash(workload)
        labels = dict((template.get("metadata") or {}).get("labels") or {})
        if kind == STATEFUL_SETS:
            owner = ("StatefulSet", meta["name"])
            labels |= {
                "controller-revision-hash": f"{meta['name']}-{template_hash}",
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(_number(name)),
            }
        else:
            owner = ("ReplicaSet", self._replica_set(workload)["metadata"]["name"])
            labels |= {"pod-template-hash": template_hash}
        return self._context.cluster.start_pod(
            meta["namespace"],
            name,
            list(containers_of(template)),
            labels,
            annotations=(template.get("metadata") or {}).get("annotations"),
            owner=owner,
            program=PROGRAMS.get(meta["name"], DEFAULT_PROGRAM),
            node=self._pods.node_for(name),
        )

    def _replica_set(self, deployment: Json) -> Json:
        return self._sets.current(deployment, self._hash(deployment), _replicas(deployment))

    def _hash(self, workload: Json) -> str:
        template = json.dumps(_without_empty_fields(workload["spec"].get("template")), sort_keys=True)
        return self._context.random.hex(10, "template", template)

    def _pods_of(self, kind: Kind, namespace: str, name: str) -> list[Pod]:
        """The workload's pods, the oldest first."""
        owners = {("StatefulSet", name)}
        if kind == DEPLOYMENTS:
            owners = {
                ("ReplicaSet", replica_set["metadata"]["name"])
                for replica_set in self._sets.of_deployment(namespace, name)
            }
        return [pod for pod in self._context.cluster.pods(namespace) if pod.owner in owners]

    def _update_status(self, kind: Kind, namespace: str, name: str) -> None:
        updated = workload = self._objects.get(kind, namespace, name)
        pods = [pod for pod in self._pods_of(kind, namespace, name) if self._stays(pod)]
        template_hash = self._hash(workload)
        if kind == STATEFUL_SETS:
            status = stateful_status(workload, pods, template_hash)
        else:
            status = deployment_status(workload, pods, template_hash, self._objects.now())
            current = self._replica_set(workload)
            updated = with_revision(workload, current)
            self._sets.update(workload, pods, current["metadata"]["name"], _replicas(workload))
        if {**updated, "status": status} != workload:
            self._objects.put(kind, {**updated, "status": status})


def _replicas(workload: Json) -> int:
    """``spec.replicas``, at most ``MOST_PODS``."""
    replicas = workload["spec"].get("replicas", 1)
    return min(replicas, MOST_PODS) if isinstance(replicas, int) and replicas > 0 else 0


def _desired_state(workload: Json) -> tuple[Json, Json]:
    """The parts of a workload that a controller acts on; annotations are copied to its ReplicaSets."""
    return workload.get("spec"), workload["metadata"].get("annotations")


def _without_empty_fields(value: Json) -> Json:
    """The value without empty fields: Go clients write them, other clients leave them out."""
    if isinstance(value, dict):
        stripped = {name: _without_empty_fields(item) for name, item in value.items()}
        return {name: item for name, item in stripped.items() if item not in (None, {}, [], "")}
    return [_without_empty_fields(item) for item in value] if isinstance(value, list) else value


def _is_running(pod: Pod) -> bool:
    return all(container.state == RUNNING for container in pod.containers if not container.init)


def _number(name: str) -> int:
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
