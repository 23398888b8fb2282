"""The status of Deployments, ReplicaSets and StatefulSets."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.records import Json


def _ready_count(pods: Sequence[Pod]) -> int:
    return sum(all(container.state == RUNNING for container in pod.containers if not container.init) for pod in pods)


def _nonzero(**counts: int) -> Json:
    return {name: count for name, count in counts.items() if count}


def deployment_status(deployment: Json, pods: Sequence[Pod], template_hash: str, now: str) -> Json:
    updated = [pod for pod in pods if pod.labels.get("pod-template-hash") == template_hash]
    ready, replicas = _ready_count(pods), deployment["spec"].get("replicas", 1)
    counts = _nonzero(
        replicas=len(pods),
        updatedReplicas=len(updated),
        readyReplicas=ready,
        availableReplicas=ready,
        unavailableReplicas=max(replicas - ready, 0),
    )
    complete = ready >= replicas and len(updated) == len(pods) == replicas
    return {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        **counts,
        "conditions": [
            _condition(
                deployment,
                now,
                "Available",
                "MinimumReplicas" + ("Available" if ready >= replicas else "Unavailable"),
                true=ready >= replicas,
            ),
            _condition(
                deployment, now, "Progressing", "NewReplicaSetAvailable" if complete else "ReplicaSetUpdated", true=True
            ),
        ],
    }


def _condition(deployment: Json, now: str, kind: str, reason: str, *, true: bool) -> Json:
    """The condition; its time stays the same while it does not change."""
    condition = {"type": kind, "status": "True" if true else "False", "reason": reason}
    for previous in (deployment.get("status") or {}).get("conditions") or ():
        if all(previous.get(name) == value for name, value in condition.items()):
            return previous
    return {
        **condition,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "message": _message(deployment, kind, reason),
    }


def _message(deployment: Json, kind: str, reason: str) -> str:
    if kind == "Available":
        availability = "has" if reason.endswith("sAvailable") else "does not have"
        return f"Deployment {availability} minimum availability."
    progress = "has successfully progressed" if reason == "NewReplicaSetAvailable" else "is progressing"
    return f'ReplicaSet of "{deployment["metadata"]["name"]}" {progress}.'


def replica_set_status(replica_set: Json, pods: Sequence[Pod]) -> Json:
    ready = _ready_count(pods)
    return {
        "replicas": len(pods),
        **_nonzero(fullyLabeledReplicas=len(pods), readyReplicas=ready, availableReplicas=ready),
        "observedGeneration": replica_set["metadata"].get("generation", 1),
    }


def stateful_status(stateful_set: Json, pods: Sequence[Pod], template_hash: str) -> Json:
    revision = f"{stateful_set['metadata']['name']}-{template_hash}"
    current = [pod for pod in pods if pod.labels.get("controller-revision-hash") == revision]
    ready = _ready_count(pods)
    return {
        "observedGeneration": stateful_set["metadata"].get("generation", 1),
        "replicas": len(pods),
        "availableReplicas": ready,
        **_nonzero(readyReplicas=ready, currentReplicas=len(current), updatedReplicas=len(current)),
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
