"""The ReplicaSets of a Deployment: one for each template that it had, with the number of its revision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.cluster.pods import Pod
from csm_emulator.services.kubernetes.controllers.workload_status import replica_set_status
from csm_emulator.services.kubernetes.kinds.kinds import REPLICA_SETS, Json
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.defaults import KEPT_REVISIONS

REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_COPIED = (REVISION, _HISTORY, "kubectl.kubernetes.io/last-applied-configuration")


@dataclass(frozen=True, slots=True)
class ReplicaSets:
    objects: Objects

    def of(self, namespace: str, deployment: str) -> list[Json]:
        return [each for each in self.objects.list(REPLICA_SETS, namespace) if _belongs(each, deployment)]

    def current(self, found: Json, mark: str, wanted: int) -> Json:
        """The one of the template that is wanted now: a new one, or one of before that comes back."""
        meta = found["metadata"]
        listed = self.of(meta["namespace"], meta["name"])
        name = f"{meta['name']}-{mark}"
        before = next((each for each in listed if each["metadata"]["name"] == name), None)
        newest = max((_revision(each) for each in listed if each is not before), default=0)
        if before is None:
            return self.objects.create(REPLICA_SETS, _new(found, mark, wanted, newest + 1))
        marks = _marks(found, before, newest + 1)
        if marks == before["metadata"].get("annotations"):
            return before
        return self.objects.put(REPLICA_SETS, {**before, "metadata": {**before["metadata"], "annotations": marks}})

    def tell(self, found: Json, pods: Sequence[Pod], current: str, wanted: int) -> None:
        """Each says how many pods it has; those that nobody goes back to are gone."""
        meta, empty = found["metadata"], []
        for each in self.of(meta["namespace"], meta["name"]):
            called = each["metadata"]["name"]
            own = [pod for pod in pods if pod.owner == ("ReplicaSet", called)]
            replicas = wanted if called == current else len(own)
            told = {**each, "spec": {**each["spec"], "replicas": replicas}, "status": replica_set_status(each, own)}
            if told != each:
                self.objects.put(REPLICA_SETS, told)
            if called != current and not own:
                empty.append(each)
        kept = found["spec"].get("revisionHistoryLimit", KEPT_REVISIONS)
        for each in sorted(empty, key=_revision)[: max(len(empty) - kept, 0)]:
            self.objects.remove(REPLICA_SETS, meta["namespace"], each["metadata"]["name"])


def revised(found: Json, replica_set: Json) -> Json:
    """The Deployment with the revision of its ReplicaSet."""
    meta = found["metadata"]
    marks = {**(meta.get("annotations") or {}), REVISION: replica_set["metadata"]["annotations"][REVISION]}
    return {**found, "metadata": {**meta, "annotations": marks}}


def _belongs(replica_set: Json, deployment: str) -> bool:
    owners = replica_set["metadata"].get("ownerReferences") or ()
    return any(each["kind"] == "Deployment" and each["name"] == deployment for each in owners)


def _revision(replica_set: Json) -> int:
    text = str((replica_set["metadata"].get("annotations") or {}).get(REVISION, ""))
    return int(text) if text.isdecimal() else 0


def _marks(found: Json, before: Json, newest: int) -> Json:
    """Its annotations: those of the Deployment, and the greatest revision of all; what it was before is history."""
    own, was = before["metadata"].get("annotations") or {}, _revision(before)
    marks = {**own, **_copied(found), REVISION: str(max(was, newest))}
    if 0 < was < newest:
        marks[_HISTORY] = f"{own[_HISTORY]},{was}" if own.get(_HISTORY) else str(was)
    return marks


def _copied(found: Json) -> Json:
    marks = found["metadata"].get("annotations") or {}
    return {name: each for name, each in marks.items() if name not in _NOT_COPIED}


def _new(found: Json, mark: str, wanted: int, revision: int) -> Json:
    meta, spec = found["metadata"], found["spec"]
    template = spec.get("template") or {}
    inner = template.get("metadata") or {}
    labels = {**(inner.get("labels") or {}), "pod-template-hash": mark}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"]}
    match = {**((spec.get("selector") or {}).get("matchLabels") or {}), "pod-template-hash": mark}
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"{meta['name']}-{mark}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {**_copied(found), REVISION: str(revision)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "replicas": wanted,
            "selector": {"matchLabels": match},
            "template": {**template, "metadata": {**inner, "labels": labels}},
        },
    }
