"""Events of pods and Jobs, with the messages of the scheduler, the kubelet and the Job controller."""

from __future__ import annotations

from csm_emulator.cluster.pods import RUNNING, Container, Pod, PodEvent
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.pods.view import image_of
from csm_emulator.services.kubernetes.storage.events import WARNING, EventRecorder
from csm_emulator.services.kubernetes.storage.objects import Objects

_END_PHASES = ("Succeeded", "Failed")


class PodEventRecorder:
    def __init__(self, objects: Objects, pods: Pods) -> None:
        self._cluster = objects.context.cluster
        self._pods = pods
        self._scheduler = EventRecorder(objects, "default-scheduler")
        self._kubelet = EventRecorder(objects, "kubelet")
        self._controller = EventRecorder(objects, "job-controller")
        self._last_pods = {pod.uid: pod for pod in self._cluster.pods()}
        """By uid: the pod at its last change."""
        self._cluster.watch(self._pod_event)
        pods.stop_listeners.append(self._pod_stops)

    def _pod_event(self, event: PodEvent) -> None:
        pod = event.pod
        if event.kind == "added":
            self._pod_added(pod)
        elif event.kind in ("changed", "deleted") and event.what != "job":
            self._pod_changed(self._last_pods.get(pod.uid, pod), pod)
        if event.kind in ("added", "changed"):
            self._last_pods[pod.uid] = pod
        elif event.kind == "deleted":
            self._last_pods.pop(pod.uid, None)

    def _pod_added(self, pod: Pod) -> None:
        if job := self._job(pod):
            self._controller.record(job, "SuccessfulCreate", f"Created pod: {pod.name}")
        message = f"Successfully assigned {pod.namespace}/{pod.name} to {self._node(pod)}"
        self._scheduler.record(_pod_reference(pod), "Scheduled", message)

    def _pod_changed(self, previous: Pod, pod: Pod) -> None:
        for container in pod.containers:
            previous_container = previous.container(container.name)
            if container.began is not None and (
                previous_container is None
                or (previous_container.began, previous_container.restarts) != (container.began, container.restarts)
            ):
                self._container_started(pod, container)
        job = self._job(pod)
        if job and pod.phase in _END_PHASES and previous.phase not in _END_PHASES:
            self._job_ended(job, pod)

    def _container_started(self, pod: Pod, container: Container) -> None:
        reference, node = _pod_reference(pod, container), self._node(pod)
        image = f'Container image "{image_of(container)}" already present on machine'
        self._kubelet.record(reference, "Pulled", image, host=node)
        self._kubelet.record(reference, "Created", f"Created container: {container.name}", host=node)
        self._kubelet.record(reference, "Started", f"Started container {container.name}", host=node)

    def _pod_stops(self, pod: Pod) -> None:
        for container in pod.containers:
            if container.state == RUNNING:
                self._kubelet.record(
                    _pod_reference(pod, container),
                    "Killing",
                    f"Stopping container {container.name}",
                    host=self._node(pod),
                )

    def _job_ended(self, job: Json, pod: Pod) -> None:
        if pod.phase == "Succeeded":
            self._controller.record(job, "Completed", "Job completed")
        else:
            message = "Job has reached the specified backoff limit"
            self._controller.record(job, "BackoffLimitExceeded", message, WARNING)

    def _node(self, pod: Pod) -> str:
        return pod.node or self._pods.node_for(pod.name)

    def _job(self, pod: Pod) -> Json:
        """A reference to the pod's Job; None when the pod belongs to no Job."""
        kind, name = pod.owner or ("", "")
        if kind != "Job":
            return None
        uid = self._cluster.job_uid(pod.namespace, name)
        return {"kind": "Job", "namespace": pod.namespace, "name": name, "uid": uid, "apiVersion": "batch/v1"}


def _pod_reference(pod: Pod, container: Container | None = None) -> Json:
    reference = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "apiVersion": "v1"}
    if container is not None:
        reference["fieldPath"] = f"spec.{'initContainers' if container.init else 'containers'}{{{container.name}}}"
    return reference
