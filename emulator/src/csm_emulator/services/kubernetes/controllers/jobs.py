"""Jobs: the state of a Job follows from its pods.

CFS and IMS start the pods of their own Jobs. A Job that a client or a CronJob creates gets one pod here, which runs for
a few seconds and succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.cluster.cluster import BATCH
from csm_emulator.cluster.pods import WAITING, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.kubernetes.controllers.pod_templates import containers_of
from csm_emulator.services.kubernetes.kinds.kinds import JOBS
from csm_emulator.services.kubernetes.pods import view as pod_view
from csm_emulator.services.kubernetes.pods.pods import BEGINS_WITHIN
from csm_emulator.services.kubernetes.statuses import method_not_allowed
from csm_emulator.services.kubernetes.storage.object_store import (
    FIRST_VERSION,
    ObjectStore,
    with_version,
)
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

_ADVANCE_JOB = "kubernetes.advance-job"
RUNS_FOR = (3.0, 20.0)
"""Seconds that the pod of a Job from a client or a CronJob runs."""
_OWN_LABELS = ("job-name", "controller-uid", f"{BATCH}/job-name", f"{BATCH}/controller-uid", "pod-template-hash")


class Jobs:
    """The source of Job objects."""

    def __init__(self, context: Context, store: ObjectStore) -> None:
        self._context = context
        self._store = store
        self._versions: RecordTable[int] = context.tables.open("kubernetes.jobs")
        self._manifests: RecordTable[Record] = context.tables.open("kubernetes.made-jobs")
        """Metadata and spec of the Jobs that clients and CronJobs created."""
        self._pods: dict[tuple[str, str], dict[str, Pod]] = {}
        for pod in (*context.cluster.jobs_without_pods(), *context.cluster.pods()):
            self._index_pod(pod)
        context.cluster.watch(self._pod_event)
        context.scheduler.register(_ADVANCE_JOB, self._advance)

    def get(self, namespace: str, name: str) -> Json:
        pods = self._pods.get((namespace, name))
        return self._view(namespace, name, pods.values()) if pods else None

    def list(self, namespace: str) -> list[Json]:
        return [
            self._view(space, name, pods.values())
            for (space, name), pods in sorted(self._pods.items())
            if namespace in ("", space)
        ]

    def put(self, value: Json) -> Json:
        """Start a new Job; of an existing one that a client created, change labels and annotations."""
        meta = value["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        if (meta["namespace"], meta["name"]) not in self._pods:
            return self.start(value, self._context.clock.now())
        if key not in self._manifests:
            raise method_not_allowed()
        previous = self.get(meta["namespace"], meta["name"])
        self._manifests[key] = {**self._manifests[key], "metadata": _own_metadata(meta)}
        self._versions[key] = self._store.next_version()
        current = self.get(meta["namespace"], meta["name"])
        self._store.note(JOBS.storage_key, "MODIFIED", current, previous)
        return current

    def remove(self, namespace: str, name: str) -> Json:
        job = self.get(namespace, name)
        self._context.cluster.delete_job(namespace, name)
        self._manifests.pop(f"{namespace}/{name}", None)
        return job

    def owned_by(self, namespace: str, uid: str) -> Sequence[Json]:
        """The Jobs with this owner."""
        names = [
            key.partition("/")[2]
            for key, manifest in self._manifests.items()
            if key.startswith(f"{namespace}/") and any(owner["uid"] == uid for owner in _owners(manifest))
        ]
        return [job for name in names if (job := self.get(namespace, name)) is not None]

    def start(self, value: Json, moment: float) -> Json:
        """Start a Job at this time; when it is in the past, the Job is as far now as it would be since then."""
        meta, template = value["metadata"], value["spec"].get("template") or {}
        namespace, name = meta["namespace"], meta["name"]
        template_meta = template.get("metadata") or {}
        # The API server gives a Job without labels those of its template.
        meta_with_labels = {**meta, "labels": meta.get("labels") or template_meta.get("labels")}
        self._manifests[f"{namespace}/{name}"] = {"metadata": _own_metadata(meta_with_labels), "spec": value["spec"]}
        pod = self._context.cluster.start_pod(
            namespace,
            f"{name}-{self._context.random.hex(5, 'job pod', namespace, name, moment)}",
            list(containers_of(template)),
            template_meta.get("labels"),
            annotations=template_meta.get("annotations"),
            owner=("Job", name),
            created=moment,
        )
        self._advance(namespace, pod.name, pod.uid)
        return self.get(namespace, name)

    def _advance(self, namespace: str, name: str, uid: str) -> None:
        """Start and end the Job's pod when it is time."""
        cluster, now = self._context.cluster, self._context.clock.now()
        pod = cluster.pod(namespace, name)
        if pod is None or pod.uid != uid or pod.phase in ("Succeeded", "Failed"):
            return
        begins = pod.made + self._context.random.between(*BEGINS_WITHIN, "job begins", uid)
        ends = begins + self._context.random.between(*RUNS_FOR, "job runs", uid)
        if begins > now:
            self._context.scheduler.at(begins, _ADVANCE_JOB, namespace, name, uid)
            return
        for container in pod.containers:
            if container.state == WAITING:
                cluster.begin(namespace, name, container.name, begins)
                cluster.write_log(
                    namespace,
                    name,
                    container.name,
                    [(begins, f"{container.name} started"), (ends, f"{container.name} done")],
                )
            if container.init or ends <= now:
                cluster.end(namespace, name, container.name, 0, begins if container.init else ends)
        if ends > now:
            self._context.scheduler.at(ends, _ADVANCE_JOB, namespace, name, uid)

    def _index_pod(self, pod: Pod) -> None:
        if pod.owner and pod.owner[0] == "Job":
            self._pods.setdefault((pod.namespace, pod.owner[1]), {})[pod.name] = pod

    def _pod_event(self, event: PodEvent) -> None:
        pod = event.pod
        if not pod.owner or pod.owner[0] != "Job" or event.kind == "file" or event.what == "job":
            return
        key = (pod.namespace, pod.owner[1])
        previous = self.get(*key)
        if event.kind == "job-deleted":
            del self._pods[key]
            self._versions.pop("/".join(key), None)
            self._store.note(JOBS.storage_key, "DELETED", with_version(previous, self._store.next_version()), previous)
            return
        self._index_pod(pod)
        if self.get(*key) != previous:
            self._versions["/".join(key)] = self._store.next_version()
            self._store.note(JOBS.storage_key, "MODIFIED" if previous else "ADDED", self.get(*key), previous)

    def _view(self, namespace: str, name: str, pods: Iterable[Pod]) -> Json:
        ordered_pods = sorted(pods, key=lambda pod: pod.made)
        oldest_pod = ordered_pods[0]
        uid = self._context.cluster.job_uid(namespace, name)
        labels = {key: value for key, value in oldest_pod.labels.items() if key not in _OWN_LABELS}
        manifest = self._manifests.get(f"{namespace}/{name}", {})
        template = {"metadata": {"labels": dict(oldest_pod.labels)}, "spec": pod_view.spec(oldest_pod)}
        return {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self._versions.get(f"{namespace}/{name}", FIRST_VERSION)),
                "generation": 1,
                "creationTimestamp": rfc3339(oldest_pod.made, 0),
                **manifest.get("metadata", {"labels": labels}),
            },
            "spec": {
                "parallelism": 1,
                "completions": 1,
                "backoffLimit": 0,
                **manifest.get("spec", {}),
                "selector": {"matchLabels": {f"{BATCH}/controller-uid": uid}},
                "template": template,
            },
            "status": _status(ordered_pods),
        }


def _own_metadata(meta: Json) -> Json:
    return {name: meta[name] for name in ("labels", "annotations", "ownerReferences") if meta.get(name)}


def _owners(manifest: Json) -> Json:
    return manifest["metadata"].get("ownerReferences") or ()


def _status(pods: list[Pod]) -> Json:
    phases = [pod.phase for pod in pods]
    counts = {
        "active": sum(phase in ("Pending", "Running") for phase in phases),
        "succeeded": phases.count("Succeeded"),
        "failed": phases.count("Failed"),
    }
    status: Json = {"startTime": rfc3339(pods[0].made, 0), **{name: count for name, count in counts.items() if count}}
    status |= {"ready": phases.count("Running"), "terminating": 0}
    ends = [container.ended for pod in pods for container in pod.containers if container.ended is not None]
    if not counts["active"] and ends:
        end_time = rfc3339(max(ends), 0)
        failed = not counts["succeeded"]
        failure = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
        status["conditions"] = [
            {
                "type": "Failed" if failed else "Complete",
                "status": "True",
                "lastProbeTime": end_time,
                "lastTransitionTime": end_time,
                **(failure if failed else {}),
            }
        ]
        if not failed:
            status["completionTime"] = end_time
    return status
