"""Pods: the package ``cluster`` runs them; this module shows them as Kubernetes objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from csm_emulator.cluster.pods import Container, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.seed_data.cluster_nodes import one_of, workers
from csm_emulator.services.kubernetes.controllers.nodes import address_of
from csm_emulator.services.kubernetes.kinds.kinds import NODES, PODS, REPLICA_SETS, STATEFUL_SETS
from csm_emulator.services.kubernetes.pods import view as pod_view
from csm_emulator.services.kubernetes.storage.object_store import FIRST_VERSION, ObjectStore
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

STOPS_WITHIN = (1.0, 4.0)
"""Seconds that a container takes to stop."""
BEGINS_WITHIN = (2.0, 6.0)
"""Seconds until a container runs whose image is already on the node."""
_OWNERS = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS}


class Pods:
    """The source of Pod objects; it also notifies watchers of every change in the cluster."""

    def __init__(self, context: Context, store: ObjectStore) -> None:
        self._context = context
        self._store = store
        self._extra: RecordTable[Record] = context.tables.open("kubernetes.pods")
        """By pod, what the cluster does not store: version, deletion marks, the spec that a client wrote."""
        self._views: dict[str, Json] = {}
        self._nodes = workers(context.machine.topology)
        self.stop_listeners: list[Callable[[Pod], None]] = []
        """Called with each pod that begins to terminate."""
        context.cluster.watch(self._pod_event)
        context.scheduler.register("kubernetes.pod-stops", self._stop_now)
        context.scheduler.register("kubernetes.pod-begins", self._begin_when_due)

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
        if meta.get("deletionTimestamp") and "marks" not in self._extra.get(_key(pod), {}):
            self._mark_deleted(pod, meta)
        labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
        if (labels, annotations) != (pod.labels, pod.annotations):
            self._context.cluster.set_labels(pod.namespace, pod.name, labels, annotations)
        return self.get(pod.namespace, pod.name)

    def remove(self, namespace: str, name: str) -> Json:
        pod = self.get(namespace, name)
        self._context.cluster.delete_pod(namespace, name)
        return pod

    def node_for(self, name: str) -> str:
        """The node that the scheduler chooses for a pod of this name."""
        return one_of(self._nodes, self._context.random, name)

    def begin_soon(self, pod: Pod) -> None:
        seconds = self._context.random.between(*BEGINS_WITHIN, "pod begins", pod.uid)
        self._context.scheduler.after(seconds, "kubernetes.pod-begins", pod.namespace, pod.name, pod.uid)

    def stop(self, pod: Pod) -> None:
        """Begin to terminate the pod; further calls change nothing."""
        if "marks" not in self._extra.get(_key(pod), {}):
            now = rfc3339(self._context.clock.now(), 0)
            self._mark_deleted(pod, {"deletionTimestamp": now, "deletionGracePeriodSeconds": 30})

    def is_stopping(self, pod: Pod) -> bool:
        return "marks" in self._extra.get(_key(pod), {})

    def _start(self, value: Json) -> Json:
        """Start a pod that a client created."""
        meta, spec = value["metadata"], value.get("spec") or {}
        containers = [
            Container(str(container.get("name")), str(container.get("image", "")), init)
            for field, init in (("initContainers", True), ("containers", False))
            for container in spec.get(field) or ()
        ]
        self._extra[f"{meta['namespace']}/{meta['name']}"] = {"spec": spec}
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

    def _mark_deleted(self, pod: Pod, meta: Json) -> None:
        deletion_marks = {name: meta[name] for name in ("deletionTimestamp", "deletionGracePeriodSeconds")}
        self._extra[_key(pod)] = {**self._extra.get(_key(pod), {}), "marks": deletion_marks}
        seconds = min(
            self._context.random.between(*STOPS_WITHIN, "pod stops", pod.uid),
            deletion_marks["deletionGracePeriodSeconds"],
        )
        self._context.scheduler.after(seconds, "kubernetes.pod-stops", pod.namespace, pod.name, pod.uid)
        self._changed(pod, "MODIFIED")
        for listener in self.stop_listeners:
            listener(pod)

    def _stop_now(self, namespace: str, name: str, uid: str) -> None:
        pod = self._context.cluster.pod(namespace, name)
        if pod is not None and pod.uid == uid:
            self._context.cluster.delete_pod(namespace, name)

    def _begin_when_due(self, namespace: str, name: str, uid: str) -> None:
        pod = self._context.cluster.pod(namespace, name)
        if pod is None or pod.uid != uid or self.is_stopping(pod):
            return
        self.begin_now(pod)

    def begin_now(self, pod: Pod) -> None:
        for container in pod.containers:
            self._context.cluster.begin(pod.namespace, pod.name, container.name)
            self._context.cluster.write_log(
                pod.namespace, pod.name, container.name, [f"{container.name} started on {pod.name}"]
            )
            if container.init:
                self._context.cluster.end(pod.namespace, pod.name, container.name, 0)

    def _pod_event(self, event: PodEvent) -> None:
        types = {"added": "ADDED", "changed": "MODIFIED", "deleted": "DELETED"}
        if event.kind in types:
            self._changed(event.pod, types[event.kind])

    def _changed(self, pod: Pod, kind: str) -> None:
        key = _key(pod)
        previous = self._views.pop(key, None)
        version = self._store.next_version()
        self._extra[key] = {**self._extra.get(key, {}), "version": version}
        value = self._view(pod)
        if kind == "DELETED":
            previous = previous or value
            del self._extra[key]
            self._views.pop(key, None)
        elif kind == "MODIFIED":
            previous = previous or value
        self._store.note(PODS.storage_key, kind, value, previous)

    def _view(self, pod: Pod) -> Json:
        key = _key(pod)
        if key not in self._views:
            extra = self._extra.get(key, {})
            # A pod without a node is placed by the scheduler.
            pod = replace(pod, node=pod.node or self.node_for(pod.name))
            meta = pod_view.metadata(pod, extra.get("version", FIRST_VERSION), self._owner(pod), extra.get("marks", {}))
            spec = {**extra.get("spec", {}), **({"nodeName": pod.node} if pod.node else {})}
            if "spec" not in extra:
                spec = pod_view.spec(pod)
            host = address_of(self._store.get(NODES.storage_key, "", pod.node))
            status = pod_view.status(pod, host, self._context.random)
            self._views[key] = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status}
        return self._views[key]

    def _owner(self, pod: Pod) -> str:
        """The uid of the pod's owner; empty when it has none."""
        if pod.owner is None:
            return ""
        kind, name = pod.owner
        owner = self._store.get(_OWNERS[kind].storage_key, pod.namespace, name) if kind in _OWNERS else None
        return owner["metadata"]["uid"] if owner else self._context.cluster.job_uid(pod.namespace, name)


def _key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
