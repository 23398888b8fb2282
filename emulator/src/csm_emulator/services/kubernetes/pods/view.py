"""A pod of the cluster as a Kubernetes object."""

from __future__ import annotations

from csm_emulator.cluster.pods import ENDED, RUNNING, Container, Pod
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.random import SeededRandom

_APIS = {"Job": "batch/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Node": "v1"}
DEFAULT_IMAGE = "artifactory.algol60.net/csm-docker/stable/"


def image_of(container: Container) -> str:
    return container.image or f"{DEFAULT_IMAGE}{container.name}:latest"


def metadata(pod: Pod, version: int, owner_uid: str, deletion: Json) -> Json:
    meta = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(version),
        "creationTimestamp": rfc3339(pod.made, 0),
        **deletion,
    }
    if pod.labels:
        meta["labels"] = dict(pod.labels)
    if pod.annotations:
        meta["annotations"] = dict(pod.annotations)
    if pod.owner:
        kind, name = pod.owner
        if kind != "StatefulSet":
            meta["generateName"] = f"{name}-"
        owner = {"apiVersion": _APIS.get(kind, "v1"), "kind": kind, "name": name, "uid": owner_uid}
        meta["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return meta


def spec(pod: Pod) -> Json:
    """The spec of a pod that a service of the cluster started."""
    restart = "Never" if pod.owner and pod.owner[0] == "Job" else "Always"
    pod_spec: Json = {
        "containers": [_container(container) for container in pod.containers if not container.init],
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    init_containers = [_container(container) for container in pod.containers if container.init]
    return {
        **({"initContainers": init_containers} if init_containers else {}),
        **pod_spec,
        **({"nodeName": pod.node} if pod.node else {}),
    }


def _container(container: Container) -> Json:
    return {
        "name": container.name,
        "image": image_of(container),
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def status(pod: Pod, host: str, random: SeededRandom) -> Json:
    """``host`` is the address of the pod's node."""
    init_containers = [container for container in pod.containers if container.init]
    containers = [container for container in pod.containers if not container.init]
    initialized = all(container.state == ENDED and not container.code for container in init_containers)
    ready = initialized and bool(containers) and all(container.state == RUNNING for container in containers)
    pod_status = {
        "phase": pod.phase,
        "conditions": _conditions(pod, initialized=initialized, ready=ready),
        "startTime": rfc3339(pod.made, 0),
        "qosClass": "BestEffort",
    }
    if host:
        pod_status |= {"hostIP": host, "hostIPs": [{"ip": host}]}
    if any(container.began is not None for container in pod.containers):
        address = pod_address(pod, random)
        pod_status |= {"podIP": address, "podIPs": [{"ip": address}]}
    if init_containers:
        pod_status["initContainerStatuses"] = [
            container_status(container, random, pod) for container in init_containers
        ]
    # The kubelet sorts these by name, but init containers in the order of the spec.
    by_name = sorted(containers, key=lambda one: one.name)
    pod_status["containerStatuses"] = [container_status(container, random, pod) for container in by_name]
    return pod_status


def waiting_reason(pod: Pod) -> str:
    """Why a container of this pod waits, in its status and in the refusal of its log.

    The kubelet (convertToAPIContainerStatuses) decides by whether the pod has init containers, not by their progress.
    """
    return "PodInitializing" if any(container.init for container in pod.containers) else "ContainerCreating"


def pod_address(pod: Pod, random: SeededRandom) -> str:
    number = int(random.hex(4, "pod address", pod.uid), 16)
    return f"10.{32 + number % 8}.{number >> 8 & 0xFF}.{number & 0xFF}"


def container_status(container: Container, random: SeededRandom, pod: Pod) -> Json:
    succeeded = container.init and container.state == ENDED and not container.code
    container_view = {
        "name": container.name,
        "image": image_of(container),
        "imageID": "",
        "ready": succeeded if container.init else container.state == RUNNING,
        "started": container.state == RUNNING,
        "restartCount": container.restarts,
        "state": _state(container, random, pod),
        "lastState": {},
    }
    if container.began is not None:
        container_view["containerID"] = _container_id(container, random, pod)
        container_view["imageID"] = (
            f"{image_of(container).rpartition(':')[0]}@sha256:{random.hex(64, 'image', image_of(container))}"
        )
    return container_view


def _container_id(container: Container, random: SeededRandom, pod: Pod) -> str:
    return f"containerd://{random.hex(64, 'container', pod.uid, container.name, container.restarts)}"


def _state(container: Container, random: SeededRandom, pod: Pod) -> Json:
    if container.state == RUNNING:
        return {"running": {"startedAt": rfc3339(container.began or pod.made, 0)}}
    if container.state == ENDED:
        terminated = {
            "exitCode": container.code or 0,
            "reason": "Error" if container.code else "Completed",
            "startedAt": rfc3339(container.began or pod.made, 0),
            "finishedAt": rfc3339(container.ended or pod.made, 0),
        }
        return {"terminated": {**terminated, "containerID": _container_id(container, random, pod)}}
    return {"waiting": {"reason": waiting_reason(pod)}}


def _conditions(pod: Pod, *, initialized: bool, ready: bool) -> list[Json]:
    reason = {} if ready else {"reason": "PodCompleted" if pod.phase == "Succeeded" else "ContainersNotReady"}
    moments = [
        moment for container in pod.containers for moment in (container.began, container.ended) if moment is not None
    ]
    changed = rfc3339(max(moments, default=pod.made), 0)
    table: tuple[tuple[str, bool, str, Json], ...] = (
        (
            "Initialized",
            initialized,
            rfc3339(pod.made, 0),
            {} if initialized else {"reason": "ContainersNotInitialized"},
        ),
        ("Ready", ready, changed, reason),
        ("ContainersReady", ready, changed, reason),
        ("PodScheduled", bool(pod.node), rfc3339(pod.made, 0), {}),
    )
    return [
        {
            "type": name,
            "status": "True" if true else "False",
            "lastProbeTime": None,
            "lastTransitionTime": changed_at,
            **reason_field,
        }
        for name, true, changed_at, reason_field in table
    ]
