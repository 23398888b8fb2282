"""Jobs: a Job is what its pods say.

CFS and IMS start the pods of theirs. A Job that a client or a CronJob makes gets one pod here, which runs for some
seconds and ends well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.cluster.cluster import BATCH
from csm_emulator.cluster.pods import WAITING, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.controllers.pod_templates import containers_of
from csm_emulator.services.kubernetes.kinds.kinds import JOBS, Json
from csm_emulator.services.kubernetes.pods import view as pod_view
from csm_emulator.services.kubernetes.pods.pods import BEGINS_WITHIN
from csm_emulator.services.kubernetes.statuses import wrong_method
from csm_emulator.services.kubernetes.storage.table import FIRST_VERSION, Store, stamped
from csm_emulator.state.clock import rfc3339

_GOES_ON = "kubernetes.job-goes-on"
RUNS_FOR = (3.0, 20.0)
"""Seconds that a Job takes that was made here."""
_OWN_LABELS = ("job-name", "controller-uid", f"{BATCH}/job-name", f"{BATCH}/controller-uid", "pod-template-hash")


class Jobs:
    """A source of objects."""

    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store
        self._versions = context.tables.open("kubernetes.jobs")
        self._made = context.tables.open("kubernetes.made-jobs")
        """What a client or a CronJob said of the Jobs that it made."""
        self._pods: dict[tuple[str, str], dict[str, Pod]] = {}
        for pod in (*context.cluster.jobs_without_pods(), *context.cluster.pods()):
            self._file(pod)
        context.cluster.watch(self._hear)
        context.scheduler.register(_GOES_ON, self._go_on)

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
        """A new one begins at once; of one that a client made labels and annotations can be changed."""
        meta = value["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        if (meta["namespace"], meta["name"]) not in self._pods:
            return self.start(value, self._context.clock.now())
        if key not in self._made:
            raise wrong_method()
        before = self.get(meta["namespace"], meta["name"])
        self._made[key] = {**self._made[key], "metadata": _own_metadata(meta)}
        self._versions[key] = self._store.next_version()
        after = self.get(meta["namespace"], meta["name"])
        self._store.note(JOBS.place, "MODIFIED", after, before)
        return after

    def remove(self, namespace: str, name: str) -> Json:
        found = self.get(namespace, name)
        self._context.cluster.delete_job(namespace, name)
        self._made.pop(f"{namespace}/{name}", None)
        return found

    def owned_by(self, namespace: str, uid: str) -> Sequence[Json]:
        """Those that have this owner."""
        names = [
            key.partition("/")[2]
            for key, made in self._made.items()
            if key.startswith(f"{namespace}/") and any(one["uid"] == uid for one in _owners(made))
        ]
        return [job for name in names if (job := self.get(namespace, name)) is not None]

    def start(self, value: Json, moment: float) -> Json:
        """At this moment, which may be past: what has happened since then has."""
        meta, template = value["metadata"], value["spec"].get("template") or {}
        namespace, name = meta["namespace"], meta["name"]
        about = template.get("metadata") or {}
        # The API server gives a Job without labels those of its template.
        labelled = {**meta, "labels": meta.get("labels") or about.get("labels")}
        self._made[f"{namespace}/{name}"] = {"metadata": _own_metadata(labelled), "spec": value["spec"]}
        pod = self._context.cluster.start_pod(
            namespace,
            f"{name}-{self._context.random.hex(5, 'job pod', namespace, name, moment)}",
            list(containers_of(template)),
            about.get("labels"),
            annotations=about.get("annotations"),
            owner=("Job", name),
            created=moment,
        )
        self._go_on(namespace, pod.name, pod.uid)
        return self.get(namespace, name)

    def _go_on(self, namespace: str, name: str, uid: str) -> None:
        """The pod of a Job that was made here begins and ends when it is time."""
        cluster, now = self._context.cluster, self._context.clock.now()
        pod = cluster.pod(namespace, name)
        if pod is None or pod.uid != uid or pod.phase in ("Succeeded", "Failed"):
            return
        begins = pod.made + self._context.random.between(*BEGINS_WITHIN, "job begins", uid)
        ends = begins + self._context.random.between(*RUNS_FOR, "job runs", uid)
        if begins > now:
            self._context.scheduler.at(begins, _GOES_ON, namespace, name, uid)
            return
        for one in pod.containers:
            if one.state == WAITING:
                cluster.begin(namespace, name, one.name, begins)
                cluster.write_log(
                    namespace, name, one.name, [(begins, f"{one.name} started"), (ends, f"{one.name} done")]
                )
            if one.init or ends <= now:
                cluster.end(namespace, name, one.name, 0, begins if one.init else ends)
        if ends > now:
            self._context.scheduler.at(ends, _GOES_ON, namespace, name, uid)

    def _file(self, pod: Pod) -> None:
        if pod.owner and pod.owner[0] == "Job":
            self._pods.setdefault((pod.namespace, pod.owner[1]), {})[pod.name] = pod

    def _hear(self, event: PodEvent) -> None:
        pod = event.pod
        if not pod.owner or pod.owner[0] != "Job" or event.kind == "file" or event.what == "job":
            return
        key = (pod.namespace, pod.owner[1])
        before = self.get(*key)
        if event.kind == "job-deleted":
            del self._pods[key]
            self._versions.pop("/".join(key), None)
            self._store.note(JOBS.place, "DELETED", stamped(before, self._store.next_version()), before)
            return
        self._file(pod)
        if self.get(*key) != before:
            self._versions["/".join(key)] = self._store.next_version()
            self._store.note(JOBS.place, "MODIFIED" if before else "ADDED", self.get(*key), before)

    def _view(self, namespace: str, name: str, pods: Iterable[Pod]) -> Json:
        listed = sorted(pods, key=lambda pod: pod.made)
        first = listed[0]
        uid = self._context.cluster.job_uid(namespace, name)
        labels = {key: value for key, value in first.labels.items() if key not in _OWN_LABELS}
        made = self._made.get(f"{namespace}/{name}", {})
        template = {"metadata": {"labels": dict(first.labels)}, "spec": pod_view.spec(first)}
        return {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self._versions.get(f"{namespace}/{name}", FIRST_VERSION)),
                "generation": 1,
                "creationTimestamp": rfc3339(first.made, 0),
                **made.get("metadata", {"labels": labels}),
            },
            "spec": {
                "parallelism": 1,
                "completions": 1,
                "backoffLimit": 0,
                **made.get("spec", {}),
                "selector": {"matchLabels": {f"{BATCH}/controller-uid": uid}},
                "template": template,
            },
            "status": _status(listed),
        }


def _own_metadata(meta: Json) -> Json:
    return {name: meta[name] for name in ("labels", "annotations", "ownerReferences") if meta.get(name)}


def _owners(made: Json) -> Json:
    return made["metadata"].get("ownerReferences") or ()


def _status(pods: list[Pod]) -> Json:
    phases = [pod.phase for pod in pods]
    counts = {
        "active": sum(phase in ("Pending", "Running") for phase in phases),
        "succeeded": phases.count("Succeeded"),
        "failed": phases.count("Failed"),
    }
    told: Json = {"startTime": rfc3339(pods[0].made, 0), **{name: count for name, count in counts.items() if count}}
    told |= {"ready": phases.count("Running"), "terminating": 0}
    ends = [one.ended for pod in pods for one in pod.containers if one.ended is not None]
    if not counts["active"] and ends:
        ended = rfc3339(max(ends), 0)
        failed = not counts["succeeded"]
        why = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
        told["conditions"] = [
            {
                "type": "Failed" if failed else "Complete",
                "status": "True",
                "lastProbeTime": ended,
                "lastTransitionTime": ended,
                **(why if failed else {}),
            }
        ]
        if not failed:
            told["completionTime"] = ended
    return told
