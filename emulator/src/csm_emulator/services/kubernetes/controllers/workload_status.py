"""What Deployments, ReplicaSets and StatefulSets say of their pods."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.services.kubernetes.kinds.kinds import Json


def _ready(pods: Sequence[Pod]) -> int:
    return sum(all(one.state == RUNNING for one in pod.containers if not one.init) for pod in pods)


def _some(**counts: int) -> Json:
    return {name: count for name, count in counts.items() if count}


def deployment_status(found: Json, pods: Sequence[Pod], mark: str, now: str) -> Json:
    updated = [pod for pod in pods if pod.labels.get("pod-template-hash") == mark]
    ready, wanted = _ready(pods), found["spec"].get("replicas", 1)
    counts = _some(
        replicas=len(pods),
        updatedReplicas=len(updated),
        readyReplicas=ready,
        availableReplicas=ready,
        unavailableReplicas=max(wanted - ready, 0),
    )
    done = ready >= wanted and len(updated) == len(pods) == wanted
    return {
        "observedGeneration": found["metadata"].get("generation", 1),
        **counts,
        "conditions": [
            _condition(
                found,
                now,
                "Available",
                "MinimumReplicas" + ("Available" if ready >= wanted else "Unavailable"),
                true=ready >= wanted,
            ),
            _condition(found, now, "Progressing", "NewReplicaSetAvailable" if done else "ReplicaSetUpdated", true=True),
        ],
    }


def _condition(found: Json, now: str, kind: str, reason: str, *, true: bool) -> Json:
    """Its moment stays as long as it says the same."""
    told = {"type": kind, "status": "True" if true else "False", "reason": reason}
    for before in (found.get("status") or {}).get("conditions") or ():
        if all(before.get(name) == value for name, value in told.items()):
            return before
    return {**told, "lastUpdateTime": now, "lastTransitionTime": now, "message": _message(found, kind, reason)}


def _message(found: Json, kind: str, reason: str) -> str:
    if kind == "Available":
        has = "has" if reason.endswith("sAvailable") else "does not have"
        return f"Deployment {has} minimum availability."
    done = "has successfully progressed" if reason == "NewReplicaSetAvailable" else "is progressing"
    return f'ReplicaSet of "{found["metadata"]["name"]}" {done}.'


def replica_set_status(found: Json, pods: Sequence[Pod]) -> Json:
    ready = _ready(pods)
    return {
        "replicas": len(pods),
        **_some(fullyLabeledReplicas=len(pods), readyReplicas=ready, availableReplicas=ready),
        "observedGeneration": found["metadata"].get("generation", 1),
    }


def stateful_status(found: Json, pods: Sequence[Pod], mark: str) -> Json:
    revision = f"{found['metadata']['name']}-{mark}"
    current = [pod for pod in pods if pod.labels.get("controller-revision-hash") == revision]
    ready = _ready(pods)
    return {
        "observedGeneration": found["metadata"].get("generation", 1),
        "replicas": len(pods),
        "availableReplicas": ready,
        **_some(readyReplicas=ready, currentReplicas=len(current), updatedReplicas=len(current)),
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
