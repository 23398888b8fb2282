"""The ReplicaSets of a Deployment: one for each pod template that it had, with its revision number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.cluster.pods import Pod
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.controllers.workload_status import replica_set_status
from csm_emulator.services.kubernetes.kinds.kinds import REPLICA_SETS
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.defaults import KEPT_REVISIONS

REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_COPIED = (REVISION, _HISTORY, "kubectl.kubernetes.io/last-applied-configuration")


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    objects: Objects

    def of_deployment(self, namespace: str, deployment: str) -> list[Json]:
        return [
            replica_set
            for replica_set in self.objects.list(REPLICA_SETS, namespace)
            if _is_owned_by(replica_set, deployment)
        ]

    def current(self, deployment: Json, template_hash: str, replicas: int) -> Json:
        """The ReplicaSet for the current template: a new one, or an older one after a rollback."""
        meta = deployment["metadata"]
        replica_sets = self.of_deployment(meta["namespace"], meta["name"])
        name = f"{meta['name']}-{template_hash}"
        existing = next((replica_set for replica_set in replica_sets if replica_set["metadata"]["name"] == name), None)
        newest = max((_revision(replica_set) for replica_set in replica_sets if replica_set is not existing), default=0)
        if existing is None:
            return self.objects.create(REPLICA_SETS, _new_replica_set(deployment, template_hash, replicas, newest + 1))
        annotations = _updated_annotations(deployment, existing, newest + 1)
        if annotations == existing["metadata"].get("annotations"):
            return existing
        return self.objects.put(
            REPLICA_SETS, {**existing, "metadata": {**existing["metadata"], "annotations": annotations}}
        )

    def update(self, deployment: Json, pods: Sequence[Pod], current: str, replicas: int) -> None:
        """Update replicas and status; remove unused ReplicaSets beyond ``revisionHistoryLimit``."""
        meta, unused = deployment["metadata"], []
        for replica_set in self.of_deployment(meta["namespace"], meta["name"]):
            name = replica_set["metadata"]["name"]
            own_pods = [pod for pod in pods if pod.owner == ("ReplicaSet", name)]
            own_replicas = replicas if name == current else len(own_pods)
            updated = {
                **replica_set,
                "spec": {**replica_set["spec"], "replicas": own_replicas},
                "status": replica_set_status(replica_set, own_pods),
            }
            if updated != replica_set:
                self.objects.put(REPLICA_SETS, updated)
            if name != current and not own_pods:
                unused.append(replica_set)
        history_limit = deployment["spec"].get("revisionHistoryLimit", KEPT_REVISIONS)
        for replica_set in sorted(unused, key=_revision)[: max(len(unused) - history_limit, 0)]:
            self.objects.remove(REPLICA_SETS, meta["namespace"], replica_set["metadata"]["name"])


def with_revision(deployment: Json, replica_set: Json) -> Json:
    """The Deployment with the revision of its ReplicaSet."""
    meta = deployment["metadata"]
    annotations = {**(meta.get("annotations") or {}), REVISION: replica_set["metadata"]["annotations"][REVISION]}
    return {**deployment, "metadata": {**meta, "annotations": annotations}}


def _is_owned_by(replica_set: Json, deployment: str) -> bool:
    owners = replica_set["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "Deployment" and owner["name"] == deployment for owner in owners)


def _revision(replica_set: Json) -> int:
    text = str((replica_set["metadata"].get("annotations") or {}).get(REVISION, ""))
    return int(text) if text.isdecimal() else 0


def _updated_annotations(deployment: Json, replica_set: Json, newest: int) -> Json:
    """The Deployment's annotations with the newest revision; an older revision moves to the revision history."""
    current, revision = replica_set["metadata"].get("annotations") or {}, _revision(replica_set)
    annotations = {**current, **_copied_annotations(deployment), REVISION: str(max(revision, newest))}
    if 0 < revision < newest:
        annotations[_HISTORY] = f"{current[_HISTORY]},{revision}" if current.get(_HISTORY) else str(revision)
    return annotations


def _copied_annotations(deployment: Json) -> Json:
    annotations = deployment["metadata"].get("annotations") or {}
    return {name: value for name, value in annotations.items() if name not in _NOT_COPIED}


def _new_replica_set(deployment: Json, template_hash: str, replicas: int, revision: int) -> Json:
    meta, spec = deployment["metadata"], deployment["spec"]
    template = spec.get("template") or {}
    template_meta = template.get("metadata") or {}
    labels = {**(template_meta.get("labels") or {}), "pod-template-hash": template_hash}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"]}
    match = {**((spec.get("selector") or {}).get("matchLabels") or {}), "pod-template-hash": template_hash}
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"{meta['name']}-{template_hash}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {**_copied_annotations(deployment), REVISION: str(revision)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": match},
            "template": {**template, "metadata": {**template_meta, "labels": labels}},
        },
    }
