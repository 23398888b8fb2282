"""Deployments and StatefulSets: they see to it that so many pods run, a few seconds after somebody says so."""

from __future__ import annotations

import json
from collections.abc import Iterator

from csm_emulator.cluster.pods import RUNNING, Pod, PodEvent
from csm_emulator.services.kubernetes.controllers.pod_templates import containers_of
from csm_emulator.services.kubernetes.controllers.replica_sets import ReplicaSets, revised
from csm_emulator.services.kubernetes.controllers.workload_status import deployment_status, stateful_status
from csm_emulator.services.kubernetes.kinds.kinds import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, Json, Kind
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.storage.objects import Objects

NOTICED_AFTER = 1.0
"""Seconds until a controller acts on a change."""
MOST_PODS = 200
"""Of one workload; more would wait for room for ever."""
PROGRAMS = {"cray-console-operator": "console-operator", "cray-console-node": "console-node"}
"""What runs in the pods of a workload, where it is more than a shell."""
DEFAULT_PROGRAM = "shell"
_KINDS = {kind.plural: kind for kind in (DEPLOYMENTS, STATEFUL_SETS)}


class Workloads:
    def __init__(self, objects: Objects, pods: Pods) -> None:
        self._objects = objects
        self._context = objects.context
        self._pods = pods
        self._sets = ReplicaSets(objects)
        self._awaited: set[tuple[str, str, str]] = set()
        objects.listeners.append(self._changed)
        self._context.scheduler.register("kubernetes.reconcile", self._reconcile)

    def begin(self, *, first_day: bool) -> None:
        """On the first day everything runs already, and there is nothing to notice."""
        if first_day:
            self._start_all()
        self._context.cluster.watch(self._hear)

    def _start_all(self) -> None:
        for kind in _KINDS.values():
            for found in self._objects.list(kind):
                for name in self._wanted_names(kind, found):
                    self._pods.begin_now(self._start(kind, found, name))
                self._tell_status(kind, found["metadata"]["namespace"], found["metadata"]["name"])

    def _changed(self, kind: Kind, before: Json, after: Json) -> None:
        meta = (after or before)["metadata"]
        if after is None and kind in (REPLICA_SETS, STATEFUL_SETS):
            # The ReplicaSets of a Deployment go with it, and so this is all of it.
            for pod in self._context.cluster.pods(meta["namespace"]):
                if pod.owner == (kind.kind, meta["name"]):
                    self._pods.stop(pod)
        elif kind not in _KINDS.values() or after is None:
            return
        elif before is None or _wish(before) != _wish(after):
            self._soon(kind, meta["namespace"], meta["name"])

    def _hear(self, event: PodEvent) -> None:
        if event.kind not in ("changed", "deleted") or event.pod.owner is None:
            return
        owner, name = event.pod.owner
        if owner == "ReplicaSet":
            self._soon(DEPLOYMENTS, event.pod.namespace, name.rpartition("-")[0])
        elif owner == "StatefulSet":
            self._soon(STATEFUL_SETS, event.pod.namespace, name)

    def _soon(self, kind: Kind, namespace: str, name: str) -> None:
        if (kind.plural, namespace, name) not in self._awaited:
            self._awaited.add((kind.plural, namespace, name))
            self._context.scheduler.after(NOTICED_AFTER, "kubernetes.reconcile", kind.plural, namespace, name)

    def _reconcile(self, plural: str, namespace: str, name: str) -> None:
        self._awaited.discard((plural, namespace, name))
        kind = _KINDS[plural]
        found = self._objects.get(kind, namespace, name)
        if found is None:
            return
        if kind == STATEFUL_SETS:
            self._bring_in_order(found)
        else:
            self._roll(found)
        self._tell_status(kind, namespace, name)

    def _roll(self, found: Json) -> None:
        """New pods first; when they run, those of another template go, and those that are too many."""
        meta, wanted = found["metadata"], _replicas(found)
        pods = [pod for pod in self._of(DEPLOYMENTS, meta["namespace"], meta["name"]) if self._stays(pod)]
        mark = self._hash(found)
        new = [pod for pod in pods if pod.labels.get("pod-template-hash") == mark]
        for _ in range(wanted - len(new)):
            self._pods.begin_soon(self._start(DEPLOYMENTS, found, self._free_name(found)))
        for pod in new[wanted:]:
            self._pods.stop(pod)
        if sum(_runs(pod) for pod in new) >= wanted:
            for pod in pods:
                if pod not in new:
                    self._pods.stop(pod)

    def _bring_in_order(self, found: Json) -> None:
        """One after another, each when the one before runs; the highest number goes first."""
        meta, wanted, mark = found["metadata"], _replicas(found), self._hash(found)
        pods = {pod.name: pod for pod in self._of(STATEFUL_SETS, meta["namespace"], meta["name"])}
        extra = [pod for name, pod in pods.items() if _number(name) >= wanted]
        for pod in sorted(extra, key=lambda pod: -_number(pod.name))[:1]:
            self._pods.stop(pod)
        for number in range(wanted):
            one = pods.get(f"{meta['name']}-{number}")
            if one is None:
                self._pods.begin_soon(self._start(STATEFUL_SETS, found, f"{meta['name']}-{number}"))
                return
            if not _runs(one) or not self._stays(one):
                return
        for pod in sorted(pods.values(), key=lambda pod: -_number(pod.name)):
            if pod.labels.get("controller-revision-hash") != f"{meta['name']}-{mark}" and pod not in extra:
                self._pods.stop(pod)
                return

    def _stays(self, pod: Pod) -> bool:
        return not self._pods.is_stopping(pod)

    def _wanted_names(self, kind: Kind, found: Json) -> Iterator[str]:
        for number in range(_replicas(found)):
            yield f"{found['metadata']['name']}-{number}" if kind == STATEFUL_SETS else self._free_name(found)

    def _free_name(self, found: Json) -> str:
        meta = found["metadata"]
        number = self._objects.store.next_version()
        tail = self._context.random.hex(5, "pod name", meta["name"], number)
        return f"{meta['name']}-{self._hash(found)}-{tail}"

    def _start(self, kind: Kind, found: Json, name: str) -> Pod:
        meta, template, mark = found["metadata"], found["spec"].get("template") or {}, self._hash(found)
        labels = dict((template.get("metadata") or {}).get("labels") or {})
        if kind == STATEFUL_SETS:
            owner = ("StatefulSet", meta["name"])
            labels |= {
                "controller-revision-hash": f"{meta['name']}-{mark}",
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(_number(name)),
            }
        else:
            owner = ("ReplicaSet", self._replica_set(found)["metadata"]["name"])
            labels |= {"pod-template-hash": mark}
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

    def _replica_set(self, found: Json) -> Json:
        return self._sets.current(found, self._hash(found), _replicas(found))

    def _hash(self, found: Json) -> str:
        template = json.dumps(_said(found["spec"].get("template")), sort_keys=True)
        return self._context.random.hex(10, "template", template)

    def _of(self, kind: Kind, namespace: str, name: str) -> list[Pod]:
        """The oldest first."""
        owners = {("StatefulSet", name)}
        if kind == DEPLOYMENTS:
            owners = {("ReplicaSet", each["metadata"]["name"]) for each in self._sets.of(namespace, name)}
        return [pod for pod in self._context.cluster.pods(namespace) if pod.owner in owners]

    def _tell_status(self, kind: Kind, namespace: str, name: str) -> None:
        told = found = self._objects.get(kind, namespace, name)
        pods = [pod for pod in self._of(kind, namespace, name) if self._stays(pod)]
        mark = self._hash(found)
        if kind == STATEFUL_SETS:
            status = stateful_status(found, pods, mark)
        else:
            status = deployment_status(found, pods, mark, self._objects.now())
            current = self._replica_set(found)
            told = revised(found, current)
            self._sets.tell(found, pods, current["metadata"]["name"], _replicas(found))
        if {**told, "status": status} != found:
            self._objects.put(kind, {**told, "status": status})


def _replicas(found: Json) -> int:
    """As many as the cluster has room for."""
    wanted = found["spec"].get("replicas", 1)
    return min(wanted, MOST_PODS) if isinstance(wanted, int) and wanted > 0 else 0


def _wish(found: Json) -> tuple[Json, Json]:
    """What a controller goes by; annotations are copied to what it makes."""
    return found.get("spec"), found["metadata"].get("annotations")


def _said(value: Json) -> Json:
    """Without what says nothing: clients in Go write empty fields that others leave out."""
    if isinstance(value, dict):
        settled = {name: _said(each) for name, each in value.items()}
        return {name: each for name, each in settled.items() if each not in (None, {}, [], "")}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _runs(pod: Pod) -> bool:
    return all(one.state == RUNNING for one in pod.containers if not one.init)


def _number(name: str) -> int:
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
