"""A pod of the cluster as Kubernetes shows it."""

from __future__ import annotations

from csm_emulator.cluster.pods import ENDED, RUNNING, Container, Pod
from csm_emulator.services.kubernetes.kinds.kinds import Json
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.random import SeededRandom

_APIS = {"Job": "batch/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Node": "v1"}
DEFAULT_IMAGE = "artifactory.algol60.net/csm-docker/stable/"


def image_of(container: Container) -> str:
    return container.image or f"{DEFAULT_IMAGE}{container.name}:latest"


def metadata(pod: Pod, version: int, owner_uid: str, marks: Json) -> Json:
    told = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(version),
        "creationTimestamp": rfc3339(pod.made, 0),
        **marks,
    }
    if pod.labels:
        told["labels"] = dict(pod.labels)
    if pod.annotations:
        told["annotations"] = dict(pod.annotations)
    if pod.owner:
        kind, name = pod.owner
        if kind != "StatefulSet":
            told["generateName"] = f"{name}-"
        owner = {"apiVersion": _APIS.get(kind, "v1"), "kind": kind, "name": name, "uid": owner_uid}
        told["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return told


def spec(pod: Pod) -> Json:
    """Of a pod that somebody inside the cluster started."""
    restart = "Never" if pod.owner and pod.owner[0] == "Job" else "Always"
    told: Json = {
        "containers": [_container(one) for one in pod.containers if not one.init],
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    first = [_container(one) for one in pod.containers if one.init]
    return {**({"initContainers": first} if first else {}), **told, **({"nodeName": pod.node} if pod.node else {})}


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
    """``host`` is the address of its node."""
    first = [one for one in pod.containers if one.init]
    main = [one for one in pod.containers if not one.init]
    begun = all(one.state == ENDED and not one.code for one in first)
    ready = begun and bool(main) and all(one.state == RUNNING for one in main)
    told = {
        "phase": pod.phase,
        "conditions": _conditions(pod, begun=begun, ready=ready),
        "startTime": rfc3339(pod.made, 0),
        "qosClass": "BestEffort",
    }
    if host:
        told |= {"hostIP": host, "hostIPs": [{"ip": host}]}
    if any(one.began is not None for one in pod.containers):
        address = pod_address(pod, random)
        told |= {"podIP": address, "podIPs": [{"ip": address}]}
    if first:
        told["initContainerStatuses"] = [container_status(one, random, pod) for one in first]
    # The kubelet sorts these by name, and those that come first by the spec.
    by_name = sorted(main, key=lambda one: one.name)
    told["containerStatuses"] = [container_status(one, random, pod) for one in by_name]
    return told


def waiting_reason(pod: Pod) -> str:
    """Why a container of this pod waits, in its status and in the refusal of its log.

    The kubelet (convertToAPIContainerStatuses) goes by whether the pod has init containers, not by how far they are.
    """
    return "PodInitializing" if any(one.init for one in pod.containers) else "ContainerCreating"


def pod_address(pod: Pod, random: SeededRandom) -> str:
    number = int(random.hex(4, "pod address", pod.uid), 16)
    return f"10.{32 + number % 8}.{number >> 8 & 0xFF}.{number & 0xFF}"


def container_status(one: Container, random: SeededRandom, pod: Pod) -> Json:
    done = one.init and one.state == ENDED and not one.code
    told = {
        "name": one.name,
        "image": image_of(one),
        "imageID": "",
        "ready": done if one.init else one.state == RUNNING,
        "started": one.state == RUNNING,
        "restartCount": one.restarts,
        "state": _state(one, random, pod),
        "lastState": {},
    }
    if one.began is not None:
        told["containerID"] = _container_id(one, random, pod)
        told["imageID"] = f"{image_of(one).rpartition(':')[0]}@sha256:{random.hex(64, 'image', image_of(one))}"
    return told


def _container_id(one: Container, random: SeededRandom, pod: Pod) -> str:
    return f"containerd://{random.hex(64, 'container', pod.uid, one.name, one.restarts)}"


def _state(one: Container, random: SeededRandom, pod: Pod) -> Json:
    if one.state == RUNNING:
        return {"running": {"startedAt": rfc3339(one.began or pod.made, 0)}}
    if one.state == ENDED:
        ended = {
            "exitCode": one.code or 0,
            "reason": "Error" if one.code else "Completed",
            "startedAt": rfc3339(one.began or pod.made, 0),
            "finishedAt": rfc3339(one.ended or pod.made, 0),
        }
        return {"terminated": {**ended, "containerID": _container_id(one, random, pod)}}
    return {"waiting": {"reason": waiting_reason(pod)}}


def _conditions(pod: Pod, *, begun: bool, ready: bool) -> list[Json]:
    reason = {} if ready else {"reason": "PodCompleted" if pod.phase == "Succeeded" else "ContainersNotReady"}
    moments = [moment for one in pod.containers for moment in (one.began, one.ended) if moment is not None]
    changed = rfc3339(max(moments, default=pod.made), 0)
    table: tuple[tuple[str, bool, str, Json], ...] = (
        ("Initialized", begun, rfc3339(pod.made, 0), {} if begun else {"reason": "ContainersNotInitialized"}),
        ("Ready", ready, changed, reason),
        ("ContainersReady", ready, changed, reason),
        ("PodScheduled", bool(pod.node), rfc3339(pod.made, 0), {}),
    )
    return [
        {"type": name, "status": "True" if true else "False", "lastProbeTime": None, "lastTransitionTime": at, **why}
        for name, true, at, why in table
    ]
