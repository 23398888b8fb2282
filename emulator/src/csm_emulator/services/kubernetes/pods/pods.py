"""Pods: kept by the cluster, shown here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from csm_emulator.cluster.pods import Container, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.seed_data.cluster_nodes import one_of, workers
from csm_emulator.services.kubernetes.controllers.nodes import address_of
from csm_emulator.services.kubernetes.kinds.kinds import NODES, PODS, REPLICA_SETS, STATEFUL_SETS, Json
from csm_emulator.services.kubernetes.pods import view as pod_view
from csm_emulator.services.kubernetes.storage.table import FIRST_VERSION, Store
from csm_emulator.state.clock import rfc3339

STOPS_WITHIN = (1.0, 4.0)
"""Seconds that a container takes to end when it is asked to."""
BEGINS_WITHIN = (2.0, 6.0)
"""Seconds until a container runs whose image is there."""
_OWNERS = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS}


class Pods:
    """A source of objects, and what tells watchers of every change in the cluster."""

    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store
        self._more = context.tables.open("kubernetes.pods")
        """What the cluster does not know: version, marks of a deletion, the spec that somebody wrote."""
        self._shown: dict[str, Json] = {}
        self._nodes = workers(context.machine.topology)
        self.stopping: list[Callable[[Pod], None]] = []
        """Told of each pod that is asked to end."""
        context.cluster.watch(self._hear)
        context.scheduler.register("kubernetes.pod-stops", self._stops)
        context.scheduler.register("kubernetes.pod-begins", self._begins)

    def get(self, namespace: str, name: str) -> Json:
        pod = self._context.cluster.pod(namespace, name)
        return None if pod is None else self._view(pod)

    def list(self, namespace: str) -> list[Json]:
        pods = self._context.cluster.pods(namespace or None)
        return [self._view(pod) for pod in sorted(pods, key=lambda pod: (pod.namespace, pod.name))]

    def put(self, value: Json) -> Json:
        meta = value["metadata"]
        pod = self._context.cluster.pod(meta["namespace"], meta["name"])
        if pod is None:
            return self._start(value)
        if meta.get("deletionTimestamp") and "marks" not in self._more.get(_key(pod), {}):
            self._mark(pod, meta)
        labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
        if (labels, annotations) != (pod.labels, pod.annotations):
            self._context.cluster.set_labels(pod.namespace, pod.name, labels, annotations)
        return self.get(pod.namespace, pod.name)

    def remove(self, namespace: str, name: str) -> Json:
        found = self.get(namespace, name)
        self._context.cluster.delete_pod(namespace, name)
        return found

    def node_for(self, name: str) -> str:
        """As the scheduler chooses."""
        return one_of(self._nodes, self._context.random, name)

    def begin_soon(self, pod: Pod) -> None:
        seconds = self._context.random.between(*BEGINS_WITHIN, "pod begins", pod.uid)
        self._context.scheduler.after(seconds, "kubernetes.pod-begins", pod.namespace, pod.name, pod.uid)

    def stop(self, pod: Pod) -> None:
        """Ask it to end, as the cluster itself does; once is enough."""
        if "marks" not in self._more.get(_key(pod), {}):
            now = rfc3339(self._context.clock.now(), 0)
            self._mark(pod, {"deletionTimestamp": now, "deletionGracePeriodSeconds": 30})

    def is_stopping(self, pod: Pod) -> bool:
        return "marks" in self._more.get(_key(pod), {})

    def _start(self, value: Json) -> Json:
        """A pod that a client made."""
        meta, spec = value["metadata"], value.get("spec") or {}
        containers = [
            Container(str(one.get("name")), str(one.get("image", "")), init)
            for field, init in (("initContainers", True), ("containers", False))
            for one in spec.get(field) or ()
        ]
        self._more[f"{meta['namespace']}/{meta['name']}"] = {"spec": spec}
        pod = self._context.cluster.start_pod(
            meta["namespace"],
            meta["name"],
            containers,
            meta.get("labels"),
            annotations=meta.get("annotations"),
            node=spec.get("nodeName", ""),
        )
        self.begin_soon(pod)
        return self.get(pod.namespace, pod.name)

    def _mark(self, pod: Pod, meta: Json) -> None:
        marks = {name: meta[name] for name in ("deletionTimestamp", "deletionGracePeriodSeconds")}
        self._more[_key(pod)] = {**self._more.get(_key(pod), {}), "marks": marks}
        seconds = min(
            self._context.random.between(*STOPS_WITHIN, "pod stops", pod.uid), marks["deletionGracePeriodSeconds"]
        )
        self._context.scheduler.after(seconds, "kubernetes.pod-stops", pod.namespace, pod.name, pod.uid)
        self._changed(pod, "MODIFIED")
        for told in self.stopping:
            told(pod)

    def _stops(self, namespace: str, name: str, uid: str) -> None:
        pod = self._context.cluster.pod(namespace, name)
        if pod is not None and pod.uid == uid:
            self._context.cluster.delete_pod(namespace, name)

    def _begins(self, namespace: str, name: str, uid: str) -> None:
        pod = self._context.cluster.pod(namespace, name)
        if pod is None or pod.uid != uid or self.is_stopping(pod):
            return
        self.begin_now(pod)

    def begin_now(self, pod: Pod) -> None:
        for one in pod.containers:
            self._context.cluster.begin(pod.namespace, pod.name, one.name)
            self._context.cluster.write_log(pod.namespace, pod.name, one.name, [f"{one.name} started on {pod.name}"])
            if one.init:
                self._context.cluster.end(pod.namespace, pod.name, one.name, 0)

    def _hear(self, event: PodEvent) -> None:
        types = {"added": "ADDED", "changed": "MODIFIED", "deleted": "DELETED"}
        if event.kind in types:
            self._changed(event.pod, types[event.kind])

    def _changed(self, pod: Pod, kind: str) -> None:
        key = _key(pod)
        before = self._shown.pop(key, None)
        version = self._store.next_version()
        self._more[key] = {**self._more.get(key, {}), "version": version}
        value = self._view(pod)
        if kind == "DELETED":
            before = before or value
            del self._more[key]
            self._shown.pop(key, None)
        elif kind == "MODIFIED":
            before = before or value
        self._store.note(PODS.place, kind, value, before)

    def _view(self, pod: Pod) -> Json:
        key = _key(pod)
        if key not in self._shown:
            more = self._more.get(key, {})
            # Who starts a pod says where, or leaves it to the scheduler.
            pod = replace(pod, node=pod.node or self.node_for(pod.name))
            meta = pod_view.metadata(pod, more.get("version", FIRST_VERSION), self._owner(pod), more.get("marks", {}))
            spec = {**more.get("spec", {}), **({"nodeName": pod.node} if pod.node else {})}
            if "spec" not in more:
                spec = pod_view.spec(pod)
            host = address_of(self._store.get(NODES.place, "", pod.node))
            status = pod_view.status(pod, host, self._context.random)
            self._shown[key] = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status}
        return self._shown[key]

    def _owner(self, pod: Pod) -> str:
        """The uid of what the pod belongs to."""
        if pod.owner is None:
            return ""
        kind, name = pod.owner
        found = self._store.get(_OWNERS[kind].place, pod.namespace, name) if kind in _OWNERS else None
        return found["metadata"]["uid"] if found else self._context.cluster.job_uid(pod.namespace, name)


def _key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
