"""What is told of the lives of pods and Jobs, in the words of the scheduler, the kubelet and the Job controller."""

from __future__ import annotations

from csm_emulator.cluster.pods import RUNNING, Container, Pod, PodEvent
from csm_emulator.services.kubernetes.kinds.kinds import Json
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.pods.view import image_of
from csm_emulator.services.kubernetes.storage.events import WARNING, Teller
from csm_emulator.services.kubernetes.storage.objects import Objects

_ENDS = ("Succeeded", "Failed")


class Happenings:
    def __init__(self, objects: Objects, pods: Pods) -> None:
        self._cluster = objects.context.cluster
        self._pods = pods
        self._scheduler = Teller(objects, "default-scheduler")
        self._kubelet = Teller(objects, "kubelet")
        self._controller = Teller(objects, "job-controller")
        self._seen = {pod.uid: pod for pod in self._cluster.pods()}
        """As each was when it was last heard of."""
        self._cluster.watch(self._hear)
        pods.stopping.append(self._stops)

    def _hear(self, event: PodEvent) -> None:
        pod = event.pod
        if event.kind == "added":
            self._added(pod)
        elif event.kind in ("changed", "deleted") and event.what != "job":
            self._changed(self._seen.get(pod.uid, pod), pod)
        if event.kind in ("added", "changed"):
            self._seen[pod.uid] = pod
        elif event.kind == "deleted":
            self._seen.pop(pod.uid, None)

    def _added(self, pod: Pod) -> None:
        if job := self._job(pod):
            self._controller.tell(job, "SuccessfulCreate", f"Created pod: {pod.name}")
        where = f"Successfully assigned {pod.namespace}/{pod.name} to {self._node(pod)}"
        self._scheduler.tell(_about(pod), "Scheduled", where)

    def _changed(self, before: Pod, pod: Pod) -> None:
        for one in pod.containers:
            was = before.container(one.name)
            if one.began is not None and (was is None or (was.began, was.restarts) != (one.began, one.restarts)):
                self._began(pod, one)
        job = self._job(pod)
        if job and pod.phase in _ENDS and before.phase not in _ENDS:
            self._job_ended(job, pod)

    def _began(self, pod: Pod, one: Container) -> None:
        about, node = _about(pod, one), self._node(pod)
        image = f'Container image "{image_of(one)}" already present on machine'
        self._kubelet.tell(about, "Pulled", image, host=node)
        self._kubelet.tell(about, "Created", f"Created container: {one.name}", host=node)
        self._kubelet.tell(about, "Started", f"Started container {one.name}", host=node)

    def _stops(self, pod: Pod) -> None:
        for one in pod.containers:
            if one.state == RUNNING:
                self._kubelet.tell(_about(pod, one), "Killing", f"Stopping container {one.name}", host=self._node(pod))

    def _job_ended(self, job: Json, pod: Pod) -> None:
        if pod.phase == "Succeeded":
            self._controller.tell(job, "Completed", "Job completed")
        else:
            why = "Job has reached the specified backoff limit"
            self._controller.tell(job, "BackoffLimitExceeded", why, WARNING)

    def _node(self, pod: Pod) -> str:
        return pod.node or self._pods.node_for(pod.name)

    def _job(self, pod: Pod) -> Json:
        """None for a pod that belongs to no Job."""
        kind, name = pod.owner or ("", "")
        if kind != "Job":
            return None
        uid = self._cluster.job_uid(pod.namespace, name)
        return {"kind": "Job", "namespace": pod.namespace, "name": name, "uid": uid, "apiVersion": "batch/v1"}


def _about(pod: Pod, one: Container | None = None) -> Json:
    told = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "apiVersion": "v1"}
    if one is not None:
        told["fieldPath"] = f"spec.{'initContainers' if one.init else 'containers'}{{{one.name}}}"
    return told
